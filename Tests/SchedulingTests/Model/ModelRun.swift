import Foundation
import SluiceTestKit
import TestSupport

@testable import EngineSupport
@testable import Sluice

/// A broker and its model, to which the same is done.
struct ModelRun {
    /// Where the two differ.
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    /// Rules, and a list of commands: all that a run depends on.
    struct Plan: CustomStringConvertible {
        let seed: UInt64
        let storage: TestBroker.Storage
        let rules: ReferenceBroker.Rules
        var commands: [ModelCommand]

        /// - Parameter count: How many commands.
        init(seed: UInt64, _ storage: TestBroker.Storage, _ discipline: QueueDiscipline, count: Int) {
            var generator = SplitMix(seed: seed)
            var policies: [FailurePolicy] = [.block, .skip, .failQueue]
            // A pass goes on in a queue that is parked, which the model does not follow.
            if discipline == .passOver { policies.removeFirst() }
            let failed = policies.randomElement(using: &generator) ?? .skip
            let exhausted = policies.randomElement(using: &generator) ?? .skip
            self.seed = seed
            self.storage = storage
            rules = ReferenceBroker.Rules(discipline: discipline, failed: failed, exhausted: exhausted)
            commands = ModelCommand.list(count, for: rules, &generator)
        }

        var description: String {
            "seed \(seed), \(storage), \(rules):\n" + commands.map { "  .\($0)," }.joined(separator: "\n")
        }
    }

    let test: TestBroker
    var model: ReferenceBroker

    /// Runs a plan.
    ///
    /// - Returns: How many comparisons were made.
    /// - Throws: ``Difference``, and errors of the engine.
    static func run(_ plan: Plan) async throws -> Int {
        let rules = plan.rules
        let retry = RetryPolicy.fixed(.microseconds(ReferenceBroker.retryDelay)).limited(to: rules.attempts)
        var route = RouteOptions(retry: retry)
        route.failure.failed = rules.failed
        route.failure.exhausted = rules.exhausted
        let options = route
        var adjusted = BrokerOptions()
        // So few that actions have their order in the file, in memory and in between.
        (adjusted.file.writeBehind.newest, adjusted.file.writeBehind.batch) = (4, 3)
        adjusted.file.lockTimeout = patience
        let test = try await TestBroker(plan.storage, options: adjusted) { broker in
            try broker.configure("q/*", QueueOptions(discipline: rules.discipline))
            try broker.route("q/*", Note.self, options) { _, _ in .success }
        }
        test.holdAttempts(heedingCancellation: false)
        let now = test.clock.wallMicroseconds
        let model = ReferenceBroker(queueCount: ModelCommand.queueCount, rules: rules, now: now)
        var run = ModelRun(test: test, model: model)
        do {
            for (index, command) in plan.commands.enumerated() {
                try await run.perform(command)
                try await run.test.drain()
                run.model.settleDown()
                try await run.compare("after command \(index), \(command)")
            }
            for violation in test.violations {
                throw Difference(description: "\(violation)\n\(test.events.history)")
            }
        } catch {
            try await test.close()
            throw error
        }
        try await test.close()
        return plan.commands.count
    }
}

// MARK: - Commands

extension ModelRun {
    private func name(_ queue: Int) -> QueueName { QueueName("q/\(queue)") }

    private func pick(_ index: Int, of actions: [Int64]) -> Int64? {
        actions.isEmpty ? nil : actions[index % actions.count]
    }

    private mutating func perform(_ command: ModelCommand) async throws {
        let broker = test.broker
        switch command {
        case .enqueue(let queue, let key): try await enqueue(queue, key)
        case .enqueueGated(let queue, let key, let gate): try await enqueue(queue, key, gate: gate)
        case .enqueueLater(let queue, let key, let seconds): try await enqueue(queue, key, after: seconds)
        case .finish(let index, let end): try await finish(pick(index, of: model.running), end)
        case .cancel(let index):
            guard let id = pick(index, of: model.actions) else { return }
            try await broker.cancel(ActionID(rawValue: id))
            model.cancel(id)
        case .move(let index, let queue):
            guard let id = pick(index, of: model.actions) else { return }
            try await broker.move(ActionID(rawValue: id), to: name(queue))
            model.move(id, to: queue)
        case .moveToFront(let index):
            guard let id = pick(index, of: model.actions) else { return }
            try await broker.moveToFront(ActionID(rawValue: id))
            model.moveToFront(id)
        case .skipHead(let queue):
            try await broker.skipHead(of: name(queue))
            model.skipHead(of: queue)
        case .hold(let queue):
            try await broker.hold(.init("q/\(queue)"), by: "model")
            model.hold(queue)
        case .resume(let queue):
            try await broker.endHolds(matching: .init("q/\(queue)"))
            model.resume(queue)
        case .setGate(let gate, let isOpen):
            if isOpen {
                try await broker.openGate(GateName(gate), isPersistent: true)
            } else {
                try await broker.closeGate(GateName(gate), isPersistent: true)
            }
            model.setGate(gate, isOpen: isOpen)
        case .retryNow(let queue):
            try await broker.retryNow(.init("q/\(queue)"))
            model.retryNow(queue)
        case .requeue(let index):
            guard let id = pick(index, of: model.dead.keys.sorted()) else { return }
            try await broker.requeue(ActionID(rawValue: id))
            model.requeue(id)
        case .advance(let seconds):
            // What is scheduled is due between two steps, and what waits at their ends: where both are due at
            // once, either may come first.
            for _ in 0..<(2 * seconds) {
                test.clock.advance(by: .milliseconds(500))
                model.now += 500_000
                try await test.drain()
                model.settleDown()
            }
        case .restart(let jump):
            try await test.stop()
            test.clock.jumpWall(by: .microseconds(jump))
            try await test.restart()
            model.restart(jump: jump)
        }
    }

    private mutating func enqueue(
        _ queue: Int,
        _ key: Int64,
        gate: String? = nil,
        after seconds: Int64? = nil
    ) async throws {
        let time = seconds.map { model.now + $0 * 1_000_000 - 500_000 }
        var options = EnqueueOptions(gate: gate.map { GateName($0) })
        options.notBefore = time.map { Timestamp(microseconds: $0).date }
        let note = Note("x", in: name(queue), order: .integer(key))
        let id = try await test.broker.enqueue(note, options).id
        model.enqueue(id.rawValue, in: queue, key: key, gate: gate, notBefore: time)
    }

    private mutating func finish(_ id: Int64?, _ end: ReferenceBroker.End) async throws {
        guard let id else { return }
        let action = ActionID(rawValue: id)
        let outcome: Outcome?
        switch end {
        case .success: outcome = .success
        case .retry(let seconds): outcome = seconds.map { .retry(after: .seconds($0)) } ?? .retry
        case .retryWhenOpen(let gate): outcome = .retry(whenOpen: GateName(gate))
        case .fail: outcome = .fail("failed")
        case .release: outcome = .release
        case .releaseUntilOpen(let gate): outcome = .release(untilOpen: GateName(gate))
        case .error: outcome = nil
        }
        if let outcome {
            try await test.finish(action, with: outcome)
        } else {
            try await test.finish(action, throwing: TestError("refused"))
        }
        model.finish(id, end)
    }
}

// MARK: - Comparing

extension ModelRun {
    private func compare(_ moment: String) async throws {
        func expect<Value: Equatable>(_ what: String, _ found: Value, _ expected: Value) throws {
            guard found != expected else { return }
            throw Difference(description: "\(moment): \(what): \(found) instead of \(expected)")
        }
        let held = test.heldAttempts
        try expect("running", held.map(\.id.rawValue).sorted(), model.running)
        for attempt in held {
            let spent = model.facts[attempt.id.rawValue]?.attempts ?? -1
            try expect("attempt of \(attempt.id)", attempt.number, spent + 1)
        }
        let summaries = try await test.broker.actionSummaries()
        try expect("actions", summaries.map(\.id.rawValue).sorted(), model.actions)
        for summary in summaries {
            let id = summary.id.rawValue
            try expect("queue of \(id)", summary.queue.rawValue, model.queue(of: id).map { "q/\($0)" })
            // The attempt that runs is counted in.
            let spent = model.facts[id].map { $0.attempts + (model.running.contains(id) ? 1 : 0) }
            try expect("attempts of \(id)", summary.attempts, spent)
        }
        let letters = try await test.broker.deadLetters(limit: 1_000)
        try expect("dead", letters.map(\.id.rawValue).sorted(), model.dead.keys.sorted())
        for letter in letters {
            let expected = model.dead[letter.id.rawValue]
            try expect("cause of \(letter.id)", letter.cause, expected?.cause)
            try expect("attempts of \(letter.id)", letter.attempts, expected?.attempts)
            try expect("key of \(letter.id)", letter.sortKey, expected.map { .integer($0.key) })
        }
        guard model.isFirstInFirstOut else { return }
        for queue in model.queues.indices {
            let status = try await test.broker.status(of: name(queue))
            try expect("state of \(queue)", status.state, model.state(of: queue))
        }
    }
}
