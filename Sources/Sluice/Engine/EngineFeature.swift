/// What not every engine has: a call that needs it throws ``SluiceError/Code/unsupported`` without it.
package enum EngineFeature: Sendable, CaseIterable {
    /// Other disciplines than first in, first out, and starts in batches.
    case disciplines
    case batches
    /// Routes whose queues are chosen by a predicate.
    case predicates
    case groups

    package var error: SluiceError { SluiceError(.unsupported, lack) }

    private var lack: String {
        switch self {
        case .disciplines:
            "queues on PostgreSQL run first in, first out, at once: leave out discipline and start"
        case .batches: "queues on PostgreSQL have no batches: leave out runNow(_:)"
        case .predicates:
            "a route by predicate needs a broker on a file: the server chooses queues by pattern; give one"
        case .groups: "groups of actions need a broker on a file"
        }
    }
}

extension Broker {
    /// Throws ``SluiceError/Code/unsupported`` if the engine does not have a feature.
    func require(_ feature: EngineFeature) throws(SluiceError) {
        if engine.lacks.contains(feature) { throw feature.error }
    }

    func require(_ options: QueueOptions) throws(SluiceError) {
        let isPlain = options.discipline == nil || options.discipline == .firstInFirstOut
        if !isPlain || options.start != nil { try require(.disciplines) }
    }

    func require(_ drafts: [ActionDraft]) throws(SluiceError) {
        if engine.lacks.isEmpty { return }
        if drafts.contains(where: { $0.extras?.groups != nil }) { try require(.groups) }
    }
}
