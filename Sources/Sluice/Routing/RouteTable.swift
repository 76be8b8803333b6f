/// All routes of a broker, and the options of its queues.
struct RouteTable: Sendable {
    private var patterns = PatternTable<[String?: Admission.Entry]>()
    private var queues = QueueTable()
    private var routes: [Route] = []
    /// The first route with each rate limit; its id identifies the line of queues that wait for the limit.
    private var rateLines: [String: RouteID] = [:]
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
            let subject = kind.map { "'\($0)'" } ?? "any kind"
            throw SluiceError(.duplicateRoute, "there is a route for \(subject) in '\(pattern)' already")
        }
        let id = RouteID(rawValue: routes.count)
        routes.append(Route(id: id, pattern: pattern, options: options, perform: perform))
        var kinds = patterns[form] ?? [:]
        kinds[kind] = Admission.Entry(
            id: id,
            concurrency: options.concurrency,
            gates: options.gates,
            crashLimit: options.crashLimit,
            failure: options.failure,
            rate: rate(of: id, pattern, options)
        )
        patterns[form] = kinds
        admission = Admission(routes: patterns, queues: queues)
    }

    private mutating func rate(
        of id: RouteID,
        _ pattern: QueuePattern,
        _ options: RouteOptions
    ) -> Admission.Rate? {
        guard let limit = options.rate else { return nil }
        let name = limit.name(for: pattern)
        let line = rateLines[name] ?? id
        rateLines[name] = line
        return Admission.Rate(name: name, line: line, interval: limit.interval, burst: limit.burst)
    }

    mutating func add(_ pattern: QueuePattern, _ options: QueueOptions) throws(SluiceError) {
        try queues.add(pattern, options)
        admission = Admission(routes: patterns, queues: queues)
    }

    subscript(id: RouteID) -> Route { routes[id.rawValue] }
}
