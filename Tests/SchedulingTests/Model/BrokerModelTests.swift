import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// The whole engine beside its plain model, with random commands.
@Suite("A broker beside a plain model", .watched(minutes: 30))
struct BrokerModelTests {
    private static let disciplines: [QueueDiscipline] = [
        .firstInFirstOut, .lastInFirstOut, .concurrent(2), .passOver,
    ]

    @Test(
        "G2, G3, G4, G5, G6, G7, G8, G9: in memory, after each command the broker stands as its model",
        arguments: disciplines
    )
    func inMemory(_ discipline: QueueDiscipline) async throws {
        try await check(
            .memory,
            discipline,
            runs: Reliability.number("SLUICE_MODEL_RUNS", usually: 120, short: 12)
        )
    }

    @Test(
        "G2, G3, G4, G5, G6, G7, G8, G9: on a file, after each command the broker stands as its model",
        arguments: disciplines
    )
    func onFile(_ discipline: QueueDiscipline) async throws {
        try await check(
            .file,
            discipline,
            runs: Reliability.number("SLUICE_MODEL_RUNS", usually: 60, short: 6)
        )
    }

    private func check(
        _ storage: TestBroker.Storage,
        _ discipline: QueueDiscipline,
        runs: Int
    ) async throws {
        var comparisons = 0
        for run in 0..<runs {
            let seed = run == 0 ? Reliability.seed : UInt64.random(in: 0...UInt64.max)
            let plan = ModelRun.Plan(seed: seed, storage, discipline, count: 30)
            do {
                comparisons += try await ModelRun.run(plan)
            } catch is CancellationError {
                Issue.record("it does not come to rest, or takes too long: \(plan)")
                return
            } catch {
                return try await report(plan, error)
            }
        }
        #expect(comparisons > 0)
        Reliability.report("model, \(storage), \(discipline)", "\(runs) runs, \(comparisons) comparisons")
    }

    /// Shortens what has failed, and says how it failed, first and last: what a race did may not come again.
    private func report(_ plan: ModelRun.Plan, _ first: any Error) async throws {
        var shortest = plan
        shortest.commands = try await shrink(plan.commands) { commands in
            var shorter = plan
            shorter.commands = commands
            return try await failure(shorter) != nil
        }
        let last = try await failure(shortest) ?? "not again"
        let count = shortest.commands.count
        Issue.record("\(first)\n\(plan)\nshortened to \(count): \(last)\n\(shortest)")
    }

    private func failure(_ plan: ModelRun.Plan) async throws -> String? {
        do {
            _ = try await ModelRun.run(plan)
            return nil
        } catch let error as CancellationError {
            throw error
        } catch {
            return "\(error)"
        }
    }
}

@Suite("Shrinking", .watched) struct ShrinkingTests {
    @Test("What is left is what it takes to fail, in its order", arguments: [[7], [3, 90], [0, 1, 99], []])
    func leavesWhatMatters(_ culprits: [Int]) async {
        let left = await shrink(Array(0..<100)) { list in culprits.allSatisfy(list.contains) }
        #expect(left == culprits)
    }

    @Test("A failure that needs two neighbours keeps both")
    func neighbours() async {
        let left = await shrink(Array(0..<64)) { list in
            zip(list, list.dropFirst()).contains { $0 == 20 && $1 == 21 }
        }
        #expect(left == [20, 21])
    }

    @Test("It ends after as many tries as it may make")
    func limit() async {
        var tries = 0
        let left = await shrink(Array(0..<1_000), limit: 10) { _ in
            tries += 1
            return false
        }
        #expect(left.count == 1_000)
        #expect(tries == 10)
    }
}
