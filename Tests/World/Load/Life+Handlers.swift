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
        var options = RouteOptions(retry: Self.retry)
        options.crashLimit = Judge.crashLimit
        let failed: FailurePolicy = role == .failing ? .failQueue : .skip
        options.failure = FailurePolicies(failed: failed, exhausted: .skip, crashed: .skip)
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

    /// How often an action is tried that throws this.
    private static let attempts = 6
    private struct Exhausting: Error {}

    private static let retry = RetryPolicy { failure, generator in
        let always = RetryPolicy.fixed(.milliseconds(50))
        let policy = failure.error is Exhausting ? always.limited(to: attempts) : always
        return policy.decision(after: failure, using: &generator)
    }

    private func handle(_ note: Note, _ attempt: Attempt, _ seed: UInt64) async throws -> Outcome {
        let run = judge.begin(note, attempt)
        var outcome = "cancelled"
        defer { judge.end(note, run, outcome) }
        if note.isPing { return try await succeed(note, attempt) { outcome = $0 } }
        // An attempt goes the same way whenever it begins.
        var chance = Chance(seed &+ UInt64(note.line * 64 + attempt.number))
        if isExhausting(note), judge.runCount(of: note) < 3 * Self.attempts {
            judge.check(attempt, run, most: Self.attempts)
            throw Exhausting()
        }
        if chance.percent(70) { try await process.clock.sleep(.microseconds(chance.below(100_000))) }
        if note.kills, plan.acts.contains(.die), !judge.isQuiet { await die(run) }
        let isEarly = attempt.number < Self.attempts - 2 && judge.runCount(of: note) < 8
        if isEarly, chance.percent(note.startsGroup ? 40 : 5) {
            let delay = Duration.milliseconds(chance.below(chance.percent(10) ? 20_000 : 2_000))
            outcome = "retry"
            run.retryDelay = delay
            return .retry(after: delay)
        }
        if note.isSpecial, isEarly {
            if plan.acts.contains(.fail), chance.percent(15) {
                outcome = "failure"
                return .fail("it is refused")
            }
            if plan.acts.contains(.park), chance.percent(15), judge.mayPark(note) {
                outcome = "parking"
                return .halt("it parks its queue")
            }
            if plan.acts.contains(.hang), chance.percent(15) {
                try await hang(heeds: chance.percent(50))
            }
        }
        return try await succeed(note, attempt) { outcome = $0 }
    }

    /// Ends its process.
    private func die(_ run: Judge.Run) async {
        judge.willDie(run)
        process.world.kill(process)
        judge.died(process)
        // Nothing of it goes on.
        await process.pause(.zero)
    }

    /// Whether it fails until it may not be tried again.
    private func isExhausting(_ note: Note) -> Bool {
        note.isSpecial && plan.acts.contains(.exhaust) && note.place / 5 % 6 == 1
    }

    /// Takes longer than the route allows.
    private func hang(heeds: Bool) async throws {
        if heeds { return try await process.clock.sleep(.seconds(3_600)) }
        let end = process.clock.uptime + .seconds(10)
        while process.clock.uptime < end {
            await Task.detached(executorPreference: process.executor) { await process.pause(.seconds(10)) }
                .value
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
