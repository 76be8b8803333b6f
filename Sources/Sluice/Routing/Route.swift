internal import Synchronization

/// Runs the actions of one kind, or of any, in the queues of one pattern.
///
/// A class, since each running action refers to it.
final class Route: Sendable {
    let id: RouteID
    let pattern: QueuePattern
    /// `nil` is any kind that has no route of its own at the same pattern.
    let kind: String?
    let options: RouteOptions
    /// Decodes the payload and calls the user's code.
    ///
    /// Never throws: an error of user code is a result.
    let perform: @Sendable (ClaimedAction, Attempt) async -> HandlerResult

    init(
        id: RouteID,
        pattern: QueuePattern,
        kind: String?,
        options: RouteOptions,
        perform: @escaping @Sendable (ClaimedAction, Attempt) async -> HandlerResult
    ) {
        self.id = id
        self.pattern = pattern
        self.kind = kind
        self.options = options
        self.perform = perform
    }
}

/// The end of a handler's run.
enum HandlerResult: Sendable {
    case outcome(Outcome)
    case threw(any Error)
    /// The payload is not of the route's type; with the reason, without the payload.
    case undecodable(String)
}

/// The route of a head, if there is one.
enum RouteMatch: Sendable {
    case route(Route)
    /// There is no route; `hasRoute` says whether the queue has one for other kinds.
    case unroutable(hasRoute: Bool)
}

/// All routes of a broker, and the options of its queues.
struct RouteTable: Sendable {
    private var patterns = PatternTable<[String?: Admission.Entry]>()
    private var queues = QueueTable()
    /// By their numbers.
    private var routes: [Route] = []
    /// The facts about the routes that claims need.
    private(set) var admission = Admission(routes: PatternTable(), queues: QueueTable())

    /// Adds a route; throws and changes nothing if there is one for the same pattern and kind.
    mutating func add(
        _ pattern: QueuePattern,
        kind: String?,
        options: RouteOptions,
        perform: @escaping @Sendable (ClaimedAction, Attempt) async -> HandlerResult
    ) throws(SluiceError) {
        let form = try pattern.form()
        try options.validate()
        if let kind { try validateKind(kind) }
        guard patterns[form]?[kind] == nil else {
            throw SluiceError(
                .duplicateRoute,
                "there is a route for \(kind.map { "'\($0)'" } ?? "any kind") in '\(pattern)' already"
            )
        }
        let id = RouteID(rawValue: routes.count)
        routes.append(Route(id: id, pattern: pattern, kind: kind, options: options, perform: perform))
        var kinds = patterns[form] ?? [:]
        kinds[kind] = Admission.Entry(id: id, options)
        patterns[form] = kinds
        admission = Admission(routes: patterns, queues: queues)
    }

    /// Sets the options for the queues of a pattern.
    mutating func add(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try queues.add(pattern, options)
        admission = Admission(routes: patterns, queues: queues)
    }

    subscript(id: RouteID) -> Route { routes[id.rawValue] }

    /// Returns the route for an action; if there are several, that of the most specific pattern.
    func route(for queue: QueueName, kind: String) -> RouteMatch {
        let (route, matchesQueue) = admission.route(for: queue, kind: kind)
        return route.map { .route(self[$0.id]) } ?? .unroutable(hasRoute: matchesQueue)
    }
}

extension Admission.Entry {
    fileprivate init(id: RouteID, _ options: RouteOptions) {
        self.init(
            id: id,
            concurrency: options.concurrency,
            gates: options.gates,
            crashLimit: options.crashLimit,
            failure: options.failure
        )
    }
}

/// The current routes of a broker.
final class Routes: Sendable {
    private struct State {
        var table = RouteTable()
        /// The broker was closed.
        var isClosed = false
    }

    private let state = Mutex(State())

    var admission: Admission { state.withLock { $0.table.admission } }

    subscript(id: RouteID) -> Route { state.withLock { $0.table[id] } }

    func route(for queue: QueueName, kind: String) -> RouteMatch {
        state.withLock { $0.table.route(for: queue, kind: kind) }
    }

    /// Changes the routes; if that throws, they are unchanged.
    func change(_ body: (inout RouteTable) throws(SluiceError) -> Void) throws(SluiceError) {
        try state.withLock { state throws(SluiceError) in
            guard !state.isClosed else { throw SluiceError(.closed, "the broker was closed") }
            var table = state.table
            try body(&table)
            state.table = table
        }
    }

    /// Releases the routes for good, with their handlers, which may hold the broker itself.
    func drop() {
        let table = state.withLock { state in
            state.isClosed = true
            defer { if !mutant("routes go with close") { state.table = RouteTable() } }
            return state.table
        }
        // Application objects are released here, outside the lock.
        withExtendedLifetime(table) {}
    }
}

/// Throws if a version is outside its limits.
func validateVersion(_ version: Int, of kind: String) throws(SluiceError) {
    guard version >= 1 else {
        throw SluiceError(.invalidVersion, "a version of '\(kind)' is \(version); give 1 or more")
    }
}

/// Throws if a kind is outside its limits.
func validateKind(_ kind: String) throws(SluiceError) {
    guard (1...255).contains(kind.utf8.count) else {
        throw SluiceError(.invalidKind, "a kind has \(kind.utf8.count) bytes of UTF-8; give 1 to 255")
    }
    guard !kind.utf8.contains(0) else {
        throw SluiceError(.invalidKind, "a kind holds a NUL; give text without one")
    }
}
