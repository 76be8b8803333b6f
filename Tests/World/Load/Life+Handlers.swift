import Sluice
import SluiceSQLite

extension Life {
    func route(_ broker: Broker) throws {
        var source = chance
        let seed = source.next()
        for role in Set(plan.roles) {
            let pattern = QueuePattern("\(role.rawValue)/*")
            if let options = role.options { try broker.configure(pattern, options) }
            try broker.route(pattern, Note.self, routeOptions(role)) { note, attempt in
                try await handle(note, attempt, seed)
            }
        }
    }

    private func routeOptions(_ role: Role) -> RouteOptions {
        var options = RouteOptions(retry: .fixed(.milliseconds(50)))
        options.crashLimit = 1_000_000
        options.failure = FailurePolicies(failed: .skip)
        options.timeout = .seconds(8)
        switch role {
        case .wide:
            options.concurrency = Role.permits
            if plan.acts.contains(.closeGate) { options.gates = [Role.gate] }
        case .rated: options.rate = Role.rate
        default: break
        }
        return options
    }

    private func handle(_ note: Note, _ attempt: Attempt, _ seed: UInt64) async throws -> Outcome {
        let run = judge.begin(note, attempt)
        var outcome = "cancelled"
        defer { judge.end(note, run, outcome) }
        if note.isPing { return try await succeed(note, attempt) { outcome = $0 } }
        // An attempt goes the same way whenever it begins.
        var chance = Chance(seed &+ UInt64(note.line * 64 + attempt.number))
        if chance.percent(70) { try await process.clock.sleep(.microseconds(chance.below(100_000))) }
        let isEarly = attempt.number < 4 && judge.runCount(of: note) < 8
        if isEarly, chance.percent(note.startsGroup ? 40 : 5) {
            let delay = Duration.milliseconds(chance.below(2_000))
            outcome = "retry"
            run.retryDelay = delay
            return .retry(after: delay)
        }
        if note.isSpecial, isEarly {
            if plan.acts.contains(.fail), chance.percent(15) {
                outcome = "failure"
                return .fail("it is refused")
            }
            if plan.acts.contains(.hang), chance.percent(15) {
                try await hang(heeds: chance.percent(50))
            }
        }
        return try await succeed(note, attempt) { outcome = $0 }
    }

    /// Takes longer than the route allows.
    private func hang(heeds: Bool) async throws {
        if heeds { return try await process.clock.sleep(.seconds(3_600)) }
        let end = process.clock.uptime + .seconds(10)
        while process.clock.uptime < end {
            await Task.detached(executorPreference: process.executor) { await pause(.seconds(10)) }.value
        }
    }

    private func succeed(
        _ note: Note,
        _ attempt: Attempt,
        _ outcome: (String) -> Void
    ) async throws -> Outcome {
        switch note.form {
        case .none: break
        case .engine:
            outcome("success")
            return .success { try note.write(.init(borrowing: $0.connection)) }
        case .application:
            outcome("refused")
            try await application.write { connection in
                try attempt.succeed(in: connection.rawHandle)
                try note.write(connection)
            }
        }
        outcome("success")
        return .success
    }
}
