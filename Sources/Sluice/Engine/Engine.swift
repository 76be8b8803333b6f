/// What keeps the queues of a broker and chooses what runs: a file, memory, or a server.
///
/// The broker checks what it is given, fills in defaults and calls the engine with values. Reads return
/// snapshots; a call that changes something returns when the change is durable.
package protocol Engine: AnyObject, Sendable {
    /// Runs the handlers of what the engine has claimed.
    var runner: AttemptRunner { get }
    /// Gets the events of this process.
    var observers: Observers { get }
    /// What the engine does not have.
    var lacks: Set<EngineFeature> { get }

    // MARK: Life

    /// Runs the queues until a stop was requested and no handler runs, or until the task is cancelled.
    func run() async throws
    /// Claims nothing any more, and cancels handlers after a time; returns what waits until none runs.
    func beginStop(grace: Duration) -> @Sendable () async -> Void
    /// Stops, and gives back all that is open; later calls throw ``SluiceError/Code/closed``.
    func close(grace: Duration) async
    /// Waits until a running broker has nothing left to run or to wait for in the queues of its routes.
    ///
    /// - Parameters:
    ///   - patterns: Those of the routes, for an engine that does not know them itself.
    ///   - limit: Returns already if the remaining work is due only after this time; `nil` waits for all.
    ///   - report: Called, until it returns `true`, while only a time or another process can end the wait.
    func waitUntilIdle(
        _ patterns: [QueuePattern],
        within limit: Duration?,
        telling report: (IdleWait) -> Bool
    ) async
    /// Waits until the queues of a pattern have nothing left to run or to wait for.
    func waitUntilIdle(_ form: QueuePattern.Form) async
    /// Waits until an action has ended.
    func settled(_ action: ActionID) async throws -> ActionEnd
    /// Returns the work of the queues of the routes, by what it waits for.
    ///
    /// - Parameter isEnough: Whether to stop reading once something is due; the counts are then incomplete.
    func workLeft(_ patterns: [QueuePattern], isEnough: Bool) async throws(SluiceError) -> WorkLeft

    // MARK: Routes

    /// Routes were added or removed.
    ///
    /// - Parameter mayStrand: Whether heads may have lost their route.
    func routesChanged(mayStrand: Bool)
    /// Payloads may decode that did not: a route, an upgrader or a key was added.
    func codeChanged()
    /// The options of a pattern were replaced or removed.
    func optionsChanged(_ form: QueuePattern.Form, from old: QueueOptions) async throws(SluiceError)

    // MARK: Enqueuing

    /// Enqueues drafts, all or none, in their order; ends with the task's cancellation before the write.
    func enqueue(_ drafts: [ActionDraft]) async throws -> [ActionID]
    /// Enqueues drafts and blocks the calling thread.
    func enqueueBlocking(_ drafts: [ActionDraft]) throws(SluiceError) -> [ActionID]
    /// Enqueues drafts soon, in the order of the calls; the last argument gets the result, on any thread.
    func submit(_ drafts: [ActionDraft], _ ended: @escaping @Sendable (SluiceError?) -> Void)
    /// Enqueues drafts in a transaction of the application, on a connection of its own.
    func enqueue(_ drafts: [ActionDraft], in connection: OpaquePointer) throws(SluiceError) -> [ActionID]
    /// Enqueues actions of another store, all or none, in order; `nil` for a key that is or was stored here.
    func take(_ actions: [TransferredAction]) async throws -> [ActionID?]

    // MARK: Acts

    /// Does what the broker has checked; returns when it is durable.
    func perform(_ act: Act) async throws(SluiceError) -> ActResult
    func audit(_ act: String, by person: String, result: String) async throws(SluiceError)

    // MARK: Reading

    func statuses(
        matching form: QueuePattern.Form,
        in states: Set<QueueStatus.State>?,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus]
    /// Returns the state of an action without the reasons why its queue does not move.
    func action(_ id: ActionID) async throws(SluiceError) -> ActionState
    /// Returns the states of the actions and dead letters with a tag, without reasons.
    func actions(tag: String, limit: Int) async throws(SluiceError) -> [ActionState]
    func actionSummaries(_ form: QueuePattern.Form, limit: Int) async throws(SluiceError) -> [ActionSummary]
    func actionCount() async throws(SluiceError) -> Int
    func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt]
    func deadLetters(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter]
    func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter?
    func gates() async throws(SluiceError) -> [Gate]
    func holds() async throws(SluiceError) -> [Hold]
    func auditEntries(limit: Int) async throws(SluiceError) -> [AuditEntry]
    func observe(actions selection: ActionSelection, after position: ActionPosition?) -> ActionUpdates
    func observe(
        statuses pattern: QueuePattern,
        after position: StatusPosition?
    ) -> QueueStatusListUpdates
    /// An observer was added.
    func isObserved()

    // MARK: Reading for the tool and the page

    /// What a title calls the store; without a password.
    var place: String { get }
    func actionOutlines(_ form: QueuePattern.Form, limit: Int) async throws(SluiceError) -> [ActionOutline]
    func deadLetterOutlines(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline]
    /// Returns the names of queues from a text on, also of empty ones.
    func queueNames(from first: String, limit: Int) async throws(SluiceError) -> [QueueName]
    func deadLetterCount() async throws(SluiceError) -> Int
    /// Returns the deduplication key of an action, also after its end, and its groups.
    func keyAndGroups(of action: ActionID) async throws(SluiceError) -> (key: String?, groups: ActionGroups)
    /// Returns waiting and running actions after one, in the order in which they were enqueued.
    func exportPage(
        _ form: QueuePattern.Form,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws(SluiceError) -> [TransferredAction]
    /// Returns the actions that were moved to the front or the end of a queue in the order of arrival.
    func movedActions(
        _ form: QueuePattern.Form
    ) async throws(SluiceError) -> (first: [ActionID], last: [ActionID])
    /// A number that differs after commits of others.
    func changeMarker() async throws(SluiceError) -> Int64
    /// Returns the actions enqueued after the last of an earlier call; `nil` asks only for the last number.
    func newActions(since earlier: ActionID?) async throws(SluiceError) -> Arrivals
    /// Returns the names of the living processes that run the queues.
    func runnerNames() async throws(SluiceError) -> [String]
}

/// What a broker hands to its engine, which is made before it.
package struct EngineParts: Sendable {
    package let options: BrokerOptions
    package let book: RouteBook
    package let broker: BrokerReference
}
