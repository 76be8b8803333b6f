#if Web
public import Hummingbird
internal import Logging
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
public import ServiceLifecycle
public import Sluice
internal import Synchronization

/// The operator's page of a broker's queues: why each does not move, and acts that help.
///
/// ``OperatorServer`` serves it alone. An application with a server of its own mounts the routes into its
/// router, and runs the page beside it:
///
/// ```swift
/// var options = OperatorPageOptions(access: .application(OurSessions()))
/// options.prefix = "/ops"
/// let page = try OperatorPage(broker, options: options)
/// page.addRoutes(to: router)
/// let application = Application(router: router, services: [page])
/// ```
///
/// All queues with work are kept in memory, about a kilobyte each. Each act is logged, and written to the
/// audit log of the store, with its time and the operator's name.
public final class OperatorPage: Service {
    let store: CurrentStore
    let options: OperatorPageOptions
    let board = Board()
    let surroundings = Surroundings()
    let rates = RateHistory()
    let jobs = Jobs()
    let healthCheck: HealthCheck
    let sessions = Sessions()
    let liveSeats = LiveSeats()
    let logIns: LogIns
    let audit: AuditLog
    private let serving = Atomic(true)

    var broker: Broker { store.broker }

    /// Whether live updates go on.
    var isServing: Bool { serving.load(ordering: .relaxed) }

    /// Makes a page; nothing is read before ``run()``.
    ///
    /// - Throws: ``PageError`` if the prefix does not begin with `/`, ends with one, or has other characters
    ///   than letters, digits, `/`, `-`, `_` and `.`.
    public init(_ broker: Broker, options: OperatorPageOptions) throws {
        (store, self.options) = (CurrentStore(broker), options)
        healthCheck = HealthCheck(options.clock)
        audit = AuditLog(store: store, logger: options.logger, isReadOnly: options.isReadOnly)
        logIns = LogIns(options.clock, options.logger)
        // Last: Swift 6.3 crashes on the way out of an initializer that has set a part of the properties.
        try Self.check(options)
    }

    private static func check(_ options: OperatorPageOptions) throws(PageError) {
        let isPlain = options.prefix.unicodeScalars.allSatisfy {
            $0.isASCII
                && ($0.properties.isAlphabetic || $0.properties.numericType != nil
                    || "/-_.".contains(Character($0)))
        }
        let hasDots = options.prefix.split(separator: "/").contains { $0.allSatisfy { $0 == "." } }
        guard
            options.prefix.isEmpty
                || (!hasDots && !options.prefix.contains("//") && options.prefix.hasPrefix("/")
                    && !options.prefix.hasSuffix("/") && isPlain)
        else {
            throw PageError(.invalid, "the prefix '\(options.prefix)' is no path such as /ops")
        }
        if case .everybody = options.access, !options.hosts.isEmpty {
            throw PageError(
                .invalid,
                "everybody who reaches \(options.hosts[0]) could change the queues: give tokens or an "
                    + "authenticator"
            )
        }
    }

    /// Follows the queues and runs the operators' jobs, until the task is cancelled or a service group stops.
    public func run() async throws {
        defer { serving.store(false, ordering: .relaxed) }
        await cancelWhenGracefulShutdown { [self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.board.follow(self.store, self.options) }
                group.addTask { await self.jobs.run() }
                group.addTask { await self.healthCheck.run() }
                group.addTask { await self.lookAtFacts() }
                if !options.isReadOnly { group.addTask { await LostJobs(page: self).find() } }
                if options.facts == nil { group.addTask { await self.rates.count(self.broker) } }
                await group.waitForAll()
            }
        }
    }

    /// Why the pages may not be up to date.
    var error: String? {
        let errors = [board.totals.error, surroundings.facts.error]
        // The board says of a lost store only that its broker is closed.
        return (store.loss == nil ? errors : errors.reversed()).compactMap(\.self).first
    }

    /// Reads the facts now and then; after an error soon again, since pages and supervisors see it.
    private func lookAtFacts() async {
        var isTold = false
        while !Task.isCancelled {
            var pause = RateHistory.interval
            do {
                try await readFacts()
                if isTold { options.logger.notice("The store can be read again") }
                isTold = false
            } catch let error as SluiceError where error.isLoss {
                surroundings.fail(error.message)
                do { try await reopen(after: error) } catch { return }
                if store.loss == nil { continue }
            } catch {
                if Task.isCancelled { return }
                surroundings.fail("\(error)")
                if !isTold {
                    options.logger.warning("The store cannot be read", metadata: ["error": "\(error)"])
                }
                (isTold, pause) = (true, Self.errorPause)
            }
            rates.sample(age: await board.waitingAge(at: .now, broker))
            try? await options.clock.sleep(for: pause)
        }
    }

    private static let errorPause: Duration = .seconds(1)

    private func readFacts() async throws {
        let earlier = surroundings.facts.runners
        var facts = Surroundings.Facts(runners: [], holdCount: try await broker.holds().count)
        if let store = options.facts {
            let counts = try await store.counts()
            rates.set(enqueued: counts.enqueued, waiting: counts.waiting)
            facts.sizes = try await store.sizes()
            facts.runners = try await store.runners()
            facts.letterCount = try await (store as? any LetterFacts)?.deadLetterCount()
        }
        surroundings.set(facts)
        // Nobody commits that a process has died, and why its queues wait is another reason then.
        let living = { (runners: [RunnerFact]?) in runners?.map { "\($0.name) \($0.isAlive)" } }
        if earlier != nil, living(earlier) != living(facts.runners) { try await board.reread(broker) }
        // The end of a hold, a gate or a schedule is no commit either, if no process runs the queues.
        try await board.reread(board.overdue(at: .now, limit: 100), broker)
    }

    /// Adds the page's routes to a router, all under ``OperatorPageOptions/prefix``.
    public func addRoutes(to router: some RouterMethods<some RequestContext>) {
        let group = router.group(RouterPath(options.prefix))
        let gate = RequestGate(page: self)
        for route in Self.pages {
            group.get(RouterPath(route.path)) { request, _ in await gate.show(request, route.path, route.make)
            }
        }
        for route in Self.acts {
            group.post(RouterPath(route.path)) { request, _ in await gate.act(request, route.path, route.act)
            }
        }
        group.post("/confirm") { request, _ in await gate.ask(request) }
        group.get("/live") { request, _ in await gate.live(request) }
        group.get("/login") { request, _ in await gate.loginPage(request) }
        group.post("/login") { request, _ in await gate.logIn(request) }
        group.post("/logout") { request, _ in await gate.logOut(request) }
        group.get("/healthz") { _, _ in self.healthz() }
        group.get("/page.css") { _, _ in Assets.style }
        group.get("/page.js") { _, _ in Assets.script }
    }

    /// A page by its path below the prefix.
    struct Route: Sendable {
        let path: String
        let make: @Sendable (OperatorPage, Visit) async throws -> Page
    }

    /// What a form that changes something leads to; it returns the page to go to.
    struct ActRoute: Sendable {
        let path: String
        let act: @Sendable (OperatorPage, Visit) async throws -> String
    }

    static let pages: [Route] = [
        Route(path: "/") { try await OverviewPage(site: $0).overview($1) },
        Route(path: "/queues") { try await QueuesPage(site: $0).queueList($1) },
        Route(path: "/queue") { try await QueuePage(site: $0).queue($1) },
        Route(path: "/action") { try await ActionPage(site: $0).action($1) },
        Route(path: "/edit") { try await ActionPage(site: $0).editor($1) },
        Route(path: "/enqueue") { try ActionPage(site: $0).enqueuing($1) },
        Route(path: "/dead") { try await DeadLettersPage(site: $0).deadLetters($1) },
        Route(path: "/gates") { try await ControlsPage(site: $0).gates($1) },
        Route(path: "/holds") { try await ControlsPage(site: $0).holds($1) },
        Route(path: "/runners") { ProcessesPage(site: $0).runners($1) },
        Route(path: "/health") { try await ProcessesPage(site: $0).health($1) },
        Route(path: "/audit") { try await ProcessesPage(site: $0).auditLog($1) },
        Route(path: "/job") { try JobPage(site: $0).job($1) },
        Route(path: "/confirm") { try await ConfirmationPage(site: $0).confirmation($1) },
    ]

    static let acts: [ActRoute] = [
        ActRoute(path: "/do") { try await Acting(site: $0).perform($1) },
        ActRoute(path: "/stop") { try await JobPage(site: $0).stopJob($1) },
    ]
}
#endif
