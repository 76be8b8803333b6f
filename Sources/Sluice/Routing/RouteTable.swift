/// All routes of a broker, and the options of its queues.
struct RouteTable: Sendable {
    private var patterns = PatternTable<[String?: Admission.Entry]>()
    private var choices: [Admission.Choice] = []
    private var queues = QueueTable()
    private var routes: [RouteID: Route] = [:]
    private var lastNumber = -1
    /// The first route with each rate limit; its id identifies the line of queues that wait for the limit.
    private var rateLines: [String: RouteID] = [:]
    private(set) var current = RouteSet()

    var admission: Admission { current.admission }

    /// Adds a route; throws and changes nothing if there is one for the same pattern and a kind.
    mutating func add(
        _ pattern: QueuePattern,
        kind: String?,
        options: RouteOptions,
        perform: @escaping Route.Perform
    ) throws(SluiceError) {
        try add(.pattern(pattern), kinds: [kind], options: options, perform: perform)
    }

    /// Adds one route for several kinds, or throws and changes nothing.
    mutating func add(
        _ scope: RouteScope,
        kinds: [String?],
        options: RouteOptions,
        perform: @escaping Route.Perform
    ) throws(SluiceError) {
        try options.validate()
        let id = RouteID(rawValue: lastNumber + 1)
        let entry = Admission.Entry(
            id: id,
            concurrency: options.concurrency,
            gates: options.gates,
            crashLimit: options.crashLimit,
            failure: options.failure,
            rate: rate(of: id, scope.pattern, options)
        )
        switch scope {
        case .pattern(let pattern):
            let form = try pattern.form()
            patterns[form] = try Self.adding(entry, for: kinds, to: patterns[form] ?? [:], in: pattern)
        case .predicate(let matches):
            let entries = try Self.adding(entry, for: kinds, to: [:], in: .all)
            choices.append(Admission.Choice(matches: matches, kinds: entries))
        }
        lastNumber += 1
        routes[id] = Route(id: id, pattern: scope.pattern, options: options, perform: perform)
        publish()
    }

    private static func adding(
        _ entry: Admission.Entry,
        for kinds: [String?],
        to entries: [String?: Admission.Entry],
        in pattern: QueuePattern
    ) throws(SluiceError) -> [String?: Admission.Entry] {
        var entries = entries
        for kind in kinds {
            if let kind { try validateKind(kind) }
            guard entries.updateValue(entry, forKey: kind) == nil else {
                let subject = kind.map { "'\($0)'" } ?? "any kind"
                throw SluiceError(.duplicateRoute, "there is a route for \(subject) in '\(pattern)' already")
            }
        }
        return entries
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
        publish()
    }

    /// Removes the route of a pattern for a kind, `nil` for any; returns whether there was one.
    mutating func remove(_ pattern: QueuePattern, kind: String?) throws(SluiceError) -> Bool {
        let form = try pattern.form()
        guard var entries = patterns[form], let entry = entries.removeValue(forKey: kind) else {
            return false
        }
        patterns[form] = entries.isEmpty ? nil : entries
        // A route for several kinds is kept for the rest of them.
        if !entries.values.contains(where: { $0.id == entry.id }) { routes[entry.id] = nil }
        publish()
        return true
    }

    /// Removes all routes of a pattern; returns whether there was one.
    mutating func removeAll(_ pattern: QueuePattern) throws(SluiceError) -> Bool {
        let form = try pattern.form()
        guard let entries = patterns[form] else { return false }
        for entry in entries.values { routes[entry.id] = nil }
        patterns[form] = nil
        publish()
        return true
    }

    /// Removes all routes by predicate; returns whether there was one.
    mutating func removeChoices() -> Bool {
        guard !choices.isEmpty else { return false }
        for entry in choices.flatMap(\.kinds.values) { routes[entry.id] = nil }
        choices = []
        publish()
        return true
    }

    /// Removes the options of a pattern's queues, and returns them.
    mutating func removeOptions(_ pattern: QueuePattern) throws(SluiceError) -> QueueOptions? {
        guard let options = try queues.remove(pattern) else { return nil }
        publish()
        return options
    }

    private mutating func publish() {
        let admission = Admission(routes: patterns, choices: choices, queues: queues)
        current = RouteSet(admission: admission, routes: routes)
    }
}
