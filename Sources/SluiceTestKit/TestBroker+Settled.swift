public import Sluice

/// Waiting for the end of an action, without waiting for ever.
extension TestBroker {
    /// An action has not ended, and nothing can continue before time passes or other code acts.
    public struct Stuck: Error, CustomStringConvertible {
        /// The action, with its phase.
        public let action: ActionState
        /// Why the action's queue does not move.
        public let because: [WaitReason]
        /// The action, what its queue waits for, and what the test can do about it.
        public let description: String
    }

    /// Runs the queues until an action has ended, and returns how.
    ///
    /// Use it in place of `EnqueueReceipt.settled()`, which waits until the test has moved the clock. A dead
    /// letter has ended, also one from before a restart.
    ///
    /// - Throws: ``Stuck`` when nothing can continue, such as in a wait for a retry, and the action has not
    ///   ended; otherwise as ``drain()``.
    public func settled(_ action: ActionID) async throws -> ActionEnd {
        try await drain()
        switch try await broker.action(action).phase {
        case .ended(let end): return end
        case .dead(let cause, at: _): return .deadLettered(cause)
        default: throw try await stuck(action)
        }
    }

    func stuck(_ action: ActionID) async throws -> Stuck {
        let state = try await broker.action(action)
        var details = state.details
        // A crash after a handler may be told to wait for one that has ended.
        if case .dead = state.phase { details = nil }
        guard let queue = details?.queue else {
            return Stuck(action: state, because: [], description: "\(state): its handler does not run again")
        }
        let because: [WaitReason] =
            if case .scheduled(let date) = state.phase {
                [.scheduled(for: date)]
            } else {
                try await broker.status(of: queue).because
            }
        let reasons = because.map(\.description).joined(separator: ", ")
        let advice = advice(because.first, heldAttempts.contains { $0.queue == queue })
        let text = "action \(action) has not ended: \(queue): \(reasons.isEmpty ? "\(state.phase)" : reasons)"
        return Stuck(action: state, because: because, description: advice.map { "\(text); \($0)" } ?? text)
    }

    private func advice(_ because: WaitReason?, _ isHeld: Bool) -> String? {
        guard let because else { return nil }
        return switch because {
        case .running where isHeld: "an attempt is held: call step() or letAttemptsGo()"
        case .retry, .scheduled, .gate(_, until: .some), .permit(.rate): "advance the clock"
        case .gate: "open the gate"
        case .held: "end the hold"
        case .parked: "call retryNow(_:) or skipHead(of:)"
        case .undecodable, .unknownKind, .noRoute: "add a route or an upgrader"
        case .running, .permit, .handlersBlocked, .locked, .owned, .ready, .refused, .stopped: nil
        }
    }
}
