/// What runs the actions of one kind, or of any, in the queues of one pattern.
///
/// A class, as it goes with each action that runs.
final class Route: Sendable {
    let id: RouteID
    let pattern: QueuePattern
    /// `nil`: any kind that has no route of its own at the same pattern.
    let kind: String?
    let options: RouteOptions
    /// Decodes the payload and calls the user's code.
    ///
    /// Never throws: what user code throws is a result.
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

/// What a handler's run ended with.
enum HandlerResult: Sendable {
    case outcome(Outcome)
    case threw(any Error)
    /// The payload is not of the route's type; why, without the payload.
    case undecodable(String)
}

/// All routes of a broker.
struct RouteTable: Sendable {
    private var table = PatternTable<[String?: Route]>()
    private var count = 0

    /// Adds a route; refuses a second one for the same pattern and kind.
    mutating func add(
        _ pattern: QueuePattern,
        kind: String?,
        options: RouteOptions,
        perform: @escaping @Sendable (ClaimedAction, Attempt) async -> HandlerResult
    ) throws(SluiceError) {
        let form = try pattern.form()
        try options.validate()
        if let kind { try validateKind(kind) }
        var routes = table[form] ?? [:]
        guard routes[kind] == nil else {
            throw SluiceError(
                .duplicateRoute,
                "there is a route for \(kind.map { "'\($0)'" } ?? "any kind") in '\(pattern)' already"
            )
        }
        let id = RouteID(rawValue: count)
        routes[kind] = Route(id: id, pattern: pattern, kind: kind, options: options, perform: perform)
        table[form] = routes
        count += 1
    }

    /// The route for an action; of several, that of the most specific pattern.
    ///
    /// - Returns: Without a route for the kind, whether any pattern matches the queue.
    func route(for queue: QueueName, kind: String) -> (route: Route?, matchesQueue: Bool) {
        var matchesQueue = false
        for routes in table.matches(queue) {
            matchesQueue = true
            if let route = routes[kind] ?? routes[nil] { return (route, true) }
        }
        return (nil, matchesQueue)
    }
}

/// Refuses a version outside its limits.
func validateVersion(_ version: Int, of kind: String) throws(SluiceError) {
    guard version >= 1 else {
        throw SluiceError(.invalidVersion, "a version of '\(kind)' is \(version); give 1 or more")
    }
}

/// Refuses a kind outside its limits.
func validateKind(_ kind: String) throws(SluiceError) {
    guard (1...255).contains(kind.utf8.count) else {
        throw SluiceError(.invalidKind, "a kind has \(kind.utf8.count) bytes of UTF-8; give 1 to 255")
    }
    guard !kind.utf8.contains(0) else {
        throw SluiceError(.invalidKind, "a kind holds a NUL; give text without one")
    }
}
