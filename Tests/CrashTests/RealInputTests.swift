#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("Real chat through the tool, killed again and again", .watched(minutes: 10)) struct RealInputTests {
    private static let kills = Reliability.number("SLUICE_REAL_KILLS", usually: 10, short: 4)

    /// Runs a program to its end.
    private func output(_ program: Executable, _ arguments: [String]) async throws -> String {
        let result = try await Subprocess.run(
            program,
            arguments: Arguments(arguments),
            output: .string(limit: 64 * 1_024 * 1_024),
            error: .string(limit: 1_024 * 1_024)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput.trimmingCharacters(in: .newlines)
    }

    private var tool: Executable { .path(FilePath(BuiltProducts.path(of: "sluice"))) }

    /// Runs the queues until they are empty, or until so many deliveries have been logged.
    ///
    /// - Returns: How it ended.
    private func run(
        _ file: TemporaryFile,
        handler: String,
        killingAfter deliveries: Int?,
        followsKill: Bool
    ) async throws -> TerminationStatus {
        try await Subprocess.run(
            tool,
            arguments: [
                "run", "--file", file.path, "--pipe", handler, "--retry-delay", "0.01", "--until-empty",
            ],
            input: .none,
            output: .discarded,
            error: .sequence
        ) { execution in
            var count = 0
            for try await line in execution.standardError.strings() {
                // A kill may come while a suspect runs alone, which counts as a death of that action (G7).
                let isDeath = line.contains("the process died while an action ran alone")
                // On a busy machine the commands of a killed run end later than the next run begins.
                let isWait =
                    followsKill && line.contains("which ran the queues, has died: its actions wait until")
                let isSummary = line.contains(/\d+ done, \d+ retried, \d+ failed, \d+ (left|running)/)
                if !line.hasPrefix("delivered"), !isDeath, !isWait, !isSummary {
                    Issue.record("the tool says: \(line)")
                }
                count += 1
                if count == deliveries { try execution.send(signal: .kill) }
            }
        }.terminationStatus
    }

    @Test(
        "G1, G2, G4, G5: each message is delivered, in order, and twice only where a kill cut its settling",
        .needs("python3"),
        .enabled(if: RealInput.isThere, "this machine has no ../shared/data/conversations.jsonl")
    )
    func everyMessageArrives() async throws {
        let seed = Reliability.seed
        print("the seed of the real input's test: \(seed)")
        var random = Seeded(state: seed)
        let file = try TemporaryFile()
        let messages = try RealInput.messages()
        let log = file.path + ".log"
        let script = file.path + ".py"
        try Data(LoggingHandler.text.utf8).write(to: URL(fileURLWithPath: script))

        let enqueued = try await output(
            tool,
            [
                "enqueue", "--file", file.path, "--from", RealInput.path, "--queue-field", "conversation",
                "--sort-field", "sentAt", "--kind", "message",
            ]
        )
        #expect(enqueued == "\(messages.count) enqueued, 0 refused")
        try await expectExactTimes(file, messages)

        // What ran when each run was killed: its settling may have been cut.
        var inFlight: [Int: Set<Int>] = [:]
        for kill in 1...Self.kills {
            let target = Int.random(in: 1...(messages.count / Self.kills), using: &random)
            // It stops a little later, so that none is through before its kill on a busy machine.
            let limit = target + Int.random(in: 0...500, using: &random)
            let handler = "exec python3 '\(script)' '\(log)' \(kill) \(seed) 0.05 \(limit)"
            let status = try await run(file, handler: handler, killingAfter: target, followsKill: kill > 1)
            try #require(status == .signaled(SIGKILL), "seed \(seed), kill \(kill) behind \(target)")
            let cut = try await sql(file, "SELECT id FROM sluice_actions WHERE running_since IS NOT NULL")
            inFlight[kill] = Set(cut.split(separator: "\n").compactMap { Int($0) })
        }
        let last = "exec python3 '\(script)' '\(log)' \(Self.kills + 1) \(seed) 0.05 -1"
        #expect(
            try await run(file, handler: last, killingAfter: nil, followsKill: true) == .exited(0),
            "seed \(seed)"
        )

        let deliveries = try LoggingHandler.deliveries(in: log)
        expectOrder(deliveries, messages, seed)
        expectNoNeedlessRepetition(deliveries, inFlight, seed)
        try await expectEmpty(file, seed)
    }

    /// Every sort key in the file is the message's time to the microsecond, taken as UTC.
    private func expectExactTimes(_ file: TemporaryFile, _ messages: [RealInput.Message]) async throws {
        let stored = try await sql(file, "SELECT sort_key FROM sluice_actions ORDER BY id")
        let keys = stored.split(separator: "\n").map(String.init)
        #expect(keys == messages.map { $0.sentAt + "Z" })
    }

    /// First deliveries are all messages, in each conversation in the order of their times, each behind the
    /// success of the one before.
    private func expectOrder(
        _ deliveries: [LoggingHandler.Delivery],
        _ messages: [RealInput.Message],
        _ seed: UInt64
    ) {
        var firsts: [String: [String]] = [:]
        var seen: Set<Int> = []
        var last: [String: LoggingHandler.Delivery] = [:]
        for delivery in deliveries {
            if seen.insert(delivery.id).inserted {
                firsts[delivery.queue, default: []].append(delivery.sentAt)
                let before = last[delivery.queue]
                #expect(
                    before?.hasFailed != true,
                    "seed \(seed): \(delivery) overtook \(String(describing: before))"
                )
            } else {
                #expect(last[delivery.queue]?.id == delivery.id, "seed \(seed): \(delivery) came back late")
            }
            last[delivery.queue] = delivery
        }
        // A sort that keeps the order of equals.
        let expected = Dictionary(grouping: messages, by: \.conversation).mapValues { messages in
            messages.enumerated().sorted { ($0.element.sentAt, $0.offset) < ($1.element.sentAt, $1.offset) }
                .map(\.element.sentAt)
        }
        #expect(firsts == expected, "seed \(seed)")
        #expect(seen.count == messages.count, "seed \(seed)")
        #expect(Set(deliveries.map(\.key)).count == messages.count, "seed \(seed)")
    }

    /// A delivery is followed by another of the same action only if it failed, or if the action ran when its
    /// run was killed.
    private func expectNoNeedlessRepetition(
        _ deliveries: [LoggingHandler.Delivery],
        _ inFlight: [Int: Set<Int>],
        _ seed: UInt64
    ) {
        var repeated = 0
        for (id, deliveries) in Dictionary(grouping: deliveries, by: \.id) {
            #expect(Set(deliveries.map(\.key)).count == 1, "seed \(seed): action \(id) has several keys")
            for (earlier, later) in zip(deliveries, deliveries.dropFirst()) where !earlier.hasFailed {
                repeated += 1
                let wasCut = inFlight[earlier.run]?.contains(id) == true && earlier.run < later.run
                #expect(wasCut, "seed \(seed): \(later) repeats \(earlier), which no kill had cut")
            }
            #expect(deliveries.last?.hasFailed == false, "seed \(seed): action \(id) ended with a failure")
        }
        let failed = deliveries.count { $0.hasFailed }
        print("\(deliveries.count) deliveries, \(failed) failed, \(repeated) repeated for a kill")
        #expect(failed > 0)
    }

    private func expectEmpty(_ file: TemporaryFile, _ seed: UInt64) async throws {
        #expect(try await sql(file, "PRAGMA integrity_check") == "ok", "seed \(seed)")
        for view in ["sluice_actions", "sluice_queues", "sluice_dead"] {
            #expect(try await sql(file, "SELECT count(*) FROM \(view)") == "0", "seed \(seed): \(view)")
        }
    }

    private func sql(_ file: TemporaryFile, _ statement: String) async throws -> String {
        try await output(.name("sqlite3"), [file.path, statement])
    }
}

/// Random numbers that a failing test can be repeated with.
///
/// A linear congruential generator with the constants of Knuth's MMIX, of which the upper half is used.
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        func half() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 32
        }
        return half() << 32 | half()
    }
}
#endif
