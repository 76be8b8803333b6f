import Sluice

/// What is done with messages and acknowledgements, in the three ways in which a success can be settled.
struct Handlers: Sendable {
    let broker: Broker
    let history: History
    let application: any Application
    let seed: UInt64

    func route() throws {
        var options = RouteOptions(retry: .fixed(.milliseconds(20)))
        // Kills come at random: nobody is to be convicted of them.
        options.crashLimit = 1_000_000
        try broker.route("conversation/*", Message.self, options) { message, attempt in
            let next = Acknowledgement(conversation: message.conversation, line: message.line)
            return try await perform(message.line, attempt, then: message.isAcknowledged ? next : nil)
        }
        try broker.route("acknowledgement/*", Acknowledgement.self, options) { acknowledgement, attempt in
            try await perform(acknowledgement.line + Effect.acknowledgements, attempt, then: nil)
        }
    }

    private func perform(
        _ line: Int,
        _ attempt: Attempt,
        then next: Acknowledgement?
    ) async throws -> Outcome {
        let effect = Effect(line: line, process: history.process, run: history.nextRun())
        history.append(
            "S\t\(HistoryWorker.now())\t\(attempt.queue)\t\(line)\t\(attempt.id)\t\(effect.run)\t"
                + "\(attempt.claim ?? 0)"
        )
        var outcome = "cancelled"
        defer {
            history.append("F\t\(HistoryWorker.now())\t\(attempt.queue)\t\(line)\t\(effect.run)\t\(outcome)")
        }
        // The same message takes the same time whenever the test is run with this seed.
        var random = Mixer(state: seed &+ UInt64(line) &* 977 &+ UInt64(attempt.number))
        let chance = random.next() % 1_000
        // So long that a kill or a stop mostly meets some.
        let pause: Duration = chance < 50 ? .milliseconds(200) : .microseconds(random.next() % 60_000)
        if chance < 700 { try await SystemClock.sleep(pause) }
        guard chance % 20 != 0 || attempt.number > 5 else {
            outcome = "retry"
            throw HistoryWorkerError.unlucky
        }
        if effect.form == .engine, let settling = application.settling(effect, then: next) {
            outcome = "success"
            return settling
        }
        if effect.form != .none {
            do {
                try await application.settle(attempt, effect, then: next)
            } catch let error as SluiceError where error.code == .staleReceipt {
                outcome = "stale"
                throw error
            } catch HistoryWorkerError.unknownCommit {
                outcome = "unknown"
                throw HistoryWorkerError.unknownCommit
            }
        }
        outcome = "success"
        return .success
    }
}

/// What a handler leaves in the file, in the transaction that settles it.
struct Effect: Sendable {
    let line: Int
    let process: String
    let run: Int

    /// Added to the line of a message, it gives that of its acknowledgement.
    static let acknowledgements = 1_000_000

    /// By whose transaction a success is settled; `none`: by the engine's, and nothing else is written.
    enum Form { case engine, application, none }

    /// Fixed by the line's number; `Workers` of the tests knows it too.
    var form: Form {
        switch line % 10 {
        case 0...5: .engine
        case 6...7: .application
        default: .none
        }
    }
}

extension Message {
    /// Whether an acknowledgement follows it.
    var isAcknowledged: Bool { line % 10 == 0 || line % 10 == 6 }

    /// Whether the application stores it, with a row of its own.
    var hasRow: Bool { line % 4 == 1 }

    /// Whether it does so only after having rolled it back once.
    var changesItsMind: Bool { line % 40 == 1 }
}
