#if PostgreSQL
import Foundation
import Sluice
import SluicePostgres

/// One life of a process: a broker on the server that runs the queues, and what enqueues.
struct ServerLife: Sendable {
    let process: SimulatedProcess
    let network: SimulatedNetwork
    let plan: ServerPlan
    let judge: ServerJudge
    /// The lines that it has to enqueue.
    let share: [Line]
    let chance: Chance

    init(_ process: SimulatedProcess, _ network: SimulatedNetwork, _ plan: ServerPlan, _ share: [Line]) {
        (self.process, self.network, self.plan, judge) = (process, network, plan, network.judge)
        self.share = share.filter { !network.judge.acknowledged.contains($0.number) }
        chance = process.world.random.split()
    }

    private var server: PostgresOptions {
        var server = PostgresOptions()
        server.lease = ServerJudge.lease
        if plan.pollsRarely { server.pollInterval = .seconds(10) }
        if let claims = plan.claims { server.claimLimit = Int64(claims) }
        server.workerName = process.name
        server.connector = network
        return server
    }

    /// Runs until it is killed or closed.
    func live(_ opened: @escaping @Sendable (Broker) -> Void) async {
        let broker = await open()
        do { try route(broker) } catch { return judge.report("\(process.name) cannot route: \(error)") }
        opened(broker)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await run(broker) }
            group.addTask { await enqueue(broker) }
            group.addTask { await listen(broker) }
        }
    }

    private func open() async -> Broker {
        while true {
            do {
                return try await Broker(
                    postgres: "postgres://model",
                    options: process.options(chance, concurrency: plan.concurrency),
                    server: server
                )
            } catch {
                process.world.note("cannot open: \(error)")
                await process.pause(.milliseconds(200))
            }
        }
    }

    private func run(_ broker: Broker) async {
        do { try await broker.run() } catch { judge.report("\(process.name)'s run has ended: \(error)") }
    }

    private func listen(_ broker: Broker) async {
        for await case .event(let event) in broker.events(buffering: .bounded(10_000))
        where event.kind == .succeeded {
            if let action = event.action { judge.heardOfSuccess(action.rawValue, process) }
        }
    }

    // MARK: - Enqueuing

    private func enqueue(_ broker: Broker) async {
        var chance = chance
        for line in share {
            await process.pause(.milliseconds(chance.below(600)))
            await store(line, broker)
        }
    }

    func store(_ line: Line, _ broker: Broker) async {
        while !Task.isCancelled {
            judge.willEnqueue(line)
            do {
                return judge.acknowledge(line, try await broker.enqueue(line).id)
            } catch {
                judge.refused(line, error)
                await process.pause(.milliseconds(300))
            }
        }
    }

    // MARK: - Handlers

    private func route(_ broker: Broker) throws {
        var source = chance
        let seed = source.next()
        var limited = routeOptions
        limited.concurrency = ServerPlan.limit
        for (pattern, options) in [("free/*", routeOptions), ("limited/*", limited)] {
            try broker.route(QueuePattern(pattern), Line.self, options) { line, attempt in
                try await handle(line, attempt, seed)
            }
        }
    }

    private var routeOptions: RouteOptions {
        var options = RouteOptions(retry: .fixed(.milliseconds(50)))
        options.failure = FailurePolicies(failed: .skip, exhausted: .skip, crashed: .skip)
        return options
    }

    private func handle(_ line: Line, _ attempt: Attempt, _ seed: UInt64) async throws -> Outcome {
        let run = judge.begin(line, attempt)
        var outcome = "cancelled"
        defer { judge.end(run, outcome) }
        if line.isPing {
            outcome = "success"
            return .success
        }
        var chance = Chance(seed &+ UInt64(line.number * 64 + attempt.number))
        if chance.percent(70) { try await process.clock.sleep(.microseconds(chance.below(100_000))) }
        if !judge.isQuiet {
            if plan.habits.contains(.takesLong), chance.percent(15) {
                try await process.clock.sleep(.milliseconds(chance.below(120_000)))
            }
            if plan.habits.contains(.ignoresCancellation), chance.percent(12) {
                run.isStubborn = true
                let length = Duration.milliseconds(chance.below(90_000))
                await Task.detached(executorPreference: process.executor) {
                    await process.pause(length)
                }.value
            }
        }
        if plan.habits.contains(.retries), attempt.number < 4, chance.percent(15) {
            outcome = "retry"
            return .retry(after: .milliseconds(chance.below(3_000)))
        }
        if plan.habits.contains(.fails), chance.percent(5) {
            outcome = "failure"
            return .fail("it is refused")
        }
        if plan.habits.contains(.isUnstorable), chance.percent(4) {
            outcome = "unstorable"
            return .fail(Line.unstorable)
        }
        outcome = "success"
        return .success
    }
}
#endif
