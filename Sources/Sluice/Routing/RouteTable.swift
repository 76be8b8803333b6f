/// All routes of a broker, and the options of its queues.
struct RouteTable: Sendable {
    private var patterns = PatternTable<[String?: Admission.Entry]>()
    private var choices: [Admission.Choice] = []
    private var queues = QueueTable()
    private(set) var routes: [RouteID: Route] = [:]
    private var lastNumber = -1
    private(set) var current = RouteSet()

    var admission: Admission { current.admission }

    func entry(_ form: QueuePattern.Form, _ kind: String?) -> Admission.Entry? {
        patterns[form].flatMap { $0[kind] }
    }

    /// Adds one route for several kinds, perhaps instead of others, or throws and changes nothing.
    mutating func add(
        _ scope: RouteScope,
        kinds: [String?],
        options: RouteOptions,
        perform: @escaping Route.Perform
    ) throws(SluiceError) {
        try options.validate()
        var table = self
        if options.replaces {
            guard case .pattern(let pattern) = scope else {
                throw SluiceError(.invalidOptions, "a route by predicate replaces no other")
            }
            for kind in kinds { _ = try table.remove(pattern, kind: kind) }
        }
        try table.insert(scope, kinds, options, perform)
        self = table
    }

    private mutating func insert(
        _ scope: RouteScope,
        _ kinds: [String?],
        _ options: RouteOptions,
        _ perform: @escaping Route.Perform
    ) throws(SluiceError) {
        for case let kind? in kinds { try validateKind(kind) }
        lastNumber += 1
        let id = RouteID(rawValue: lastNumber)
        let limit = try rate(of: id, scope.pattern, kinds, options)
        let entry = Admission.Entry(
            id: id,
            concurrency: options.concurrency,
            gates: options.gates,
            crashLimit: options.crashLimit,
            failure: options.failure,
            rate: limit
        )
        switch scope {
        case .pattern(let pattern):
            let form = try pattern.form()
            patterns[form] = try Self.adding(entry, for: kinds, to: patterns[form] ?? [:], in: pattern)
        case .predicate(let matches):
            let entries = try Self.adding(entry, for: kinds, to: [:], in: .all)
            choices.append(Admission.Choice(matches: matches, kinds: entries))
        }
        routes[id] = Route(
            id: id,
            pattern: scope.pattern,
            kinds: kinds,
            options: options,
            rate: limit,
            perform: perform
        )
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
            guard entries.updateValue(entry, forKey: kind) == nil else {
                let subject = kind.map { "'\($0)'" } ?? "any kind"
                throw SluiceError(.duplicateRoute, "there is a route for \(subject) in '\(pattern)' already")
            }
        }
        return entries
    }

    /// Returns the rate limit of a route, which it may share with others.
    private func rate(
        of id: RouteID,
        _ pattern: QueuePattern,
        _ kinds: [String?],
        _ options: RouteOptions
    ) throws(SluiceError) -> Admission.Rate? {
        guard let limit = options.rate else { return nil }
        let name = limit.name(pattern, kinds)
        try SluiceError.check(name, limit: 512, .invalidOptions, "the default name of a rate limit")
        let other = routes.values.first { $0.rate?.name == name }
        let rate = Admission.Rate(
            name: name,
            line: other?.rate?.line ?? id,
            interval: limit.interval,
            burst: limit.burst
        )
        if let other, let known = other.rate,
            (known.interval, known.tolerance) != (rate.interval, rate.tolerance)
        {
            let message = "the routes '\(other.pattern)' and '\(pattern)' limit '\(name)' to different rates"
            throw SluiceError(.invalidOptions, message)
        }
        return rate
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

    /// Sets other options for a pattern's queues, or none, and returns the old ones.
    mutating func replace(
        _ pattern: QueuePattern,
        by options: QueueOptions?
    ) throws(SluiceError) -> QueueOptions? {
        var table = queues
        let old = try table.remove(pattern)
        if let options { try table.add(pattern, options) }
        queues = table
        publish()
        return old
    }

    private mutating func publish() {
        let admission = Admission(routes: patterns, choices: choices, queues: queues)
        current = RouteSet(admission: admission, routes: routes)
    }
}
