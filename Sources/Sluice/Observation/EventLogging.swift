package import Logging

extension Logger {
    /// Logs events without payloads (G13): *warning* if a person must act, *notice* results of a request.
    ///
    /// - Parameter namesRouteless: Returns whether a queue without a route has a line of its own.
    package func log(_ events: [QueueEvent], namesRouteless: () -> Bool = { true }) {
        guard logLevel <= .warning else { return }
        var behind: [QueueName: Int] = [:]
        for event in events {
            // All dead letters of a queue that fails as a whole are one line.
            if event.cause == .behind, let queue = event.queue {
                behind[queue, default: 0] += 1
                continue
            }
            if event.kind == .blocked, case .noRoute = event.because, !namesRouteless() { continue }
            guard let (level, message) = event.line else { continue }
            log(level: level, message, metadata: event.facts)
        }
        for (queue, count) in behind.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let facts: Logger.Metadata = ["queue": "\(queue)", "count": "\(count)", "cause": "behind"]
            warning("dead letters made of a whole queue", metadata: facts)
        }
    }
}

extension QueueEvent.Kind {
    /// The most urgent level at which it is logged.
    var logLevel: Logger.Level {
        switch self {
        case .failed, .expired, .deadLettered, .blocked, .crashed, .editLost: .warning
        case .started, .succeeded, .retrying, .released: .debug
        default: .trace
        }
    }
}

extension QueueEvent {
    fileprivate var line: (Logger.Level, Logger.Message)? {
        switch kind {
        case .failed, .expired:
            if policy == .block { return (.warning, "queue parked") }
            return (.debug, kind == .expired ? "action expired" : "action failed")
        case .deadLettered:
            let isAsked = cause == .skipped || cause == .expired
            return (isAsked ? .notice : .warning, "action became a dead letter")
        case .blocked:
            switch because {
            case .noRoute: return (.warning, "no route for the queue")
            case .unknownKind: return (.warning, "no route for the kind")
            default: return (.debug, "queue waits for a gate")
            }
        case .crashed: return (.warning, "the process died while an action ran alone")
        case .editLost: return (.warning, "an attempt succeeded that had not seen an edit of its action")
        case .started: return (.debug, "attempt started")
        case .succeeded: return (.debug, "attempt succeeded")
        case .retrying: return (.debug, "attempt failed, and is tried again")
        case .released: return (.debug, "attempt released")
        default: return nil
        }
    }

    fileprivate var facts: Logger.Metadata {
        var facts: Logger.Metadata = [:]
        if let queue { facts["queue"] = "\(queue)" }
        if let action { facts["action"] = "\(action)" }
        if let actionKind { facts["kind"] = "\(actionKind)" }
        if let attempt { facts["attempt"] = "\(attempt)" }
        if let cause = cause?.rawValue { facts["cause"] = "\(cause)" }
        if let delay { facts["delay"] = "\(delay)" }
        if let gate { facts["gate"] = "\(gate)" }
        if let error { facts["error"] = "\(error)" }
        return facts
    }
}
