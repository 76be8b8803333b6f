import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The machine loses power at any point, and the disk has kept any part of what was not synced.
///
/// `SLUICE_POWER_POINTS` sets at how many moments of the work it is lost, in four ways each. `SLUICE_SEED`
/// repeats what is lost, though not the work, whose threads take turns as they come.
@Suite("Loss of power", .watched(minutes: 60)) struct PowerLossTests {
    private static let points = Reliability.number("SLUICE_POWER_POINTS", usually: 12, short: 4)
    /// The broker is run on one of so many files; the others are only read.
    private static let brokerInterval = 5
    private static let lanes = 4

    @Test(
        "G1, G5, G8: at any point the file opens, keeps what was promised, and its queues run on",
        arguments: [Durability.standard, .everything]
    )
    func anyPoint(_ durability: Durability) async throws {
        let found = try await losses(at: durability, points: Self.points, "\(durability.level)")
        #expect(found == [], "SLUICE_SEED=\(Reliability.seed)")
    }

    @Test("G1: at the level that syncs no commit, enqueued actions are lost: the test above would notice")
    func relaxed() async throws {
        let found = try await losses(at: .relaxed, points: 10, "relaxed")
        #expect(found.contains { $0.contains("lost the actions") }, "SLUICE_SEED=\(Reliability.seed)")
        // That is all that it can lose.
        #expect(!found.contains { $0.contains("damaged") }, "SLUICE_SEED=\(Reliability.seed)")
    }

    @Test("G1: on a disk that says it has synced and has not, files are damaged: the test would notice")
    func lyingDisk() async throws {
        let found = try await losses(at: .everything, points: 10, "lying disk", LossyDisk(lies: true))
        #expect(found.contains { $0.contains("lost the actions") }, "SLUICE_SEED=\(Reliability.seed)")
        #expect(found.contains { $0.contains("damaged") }, "SLUICE_SEED=\(Reliability.seed)")
    }

    /// Lets the power go at so many points of some work, with all kinds of loss at each.
    ///
    /// - Returns: What was not as it was promised.
    private func losses(
        at durability: Durability,
        points: Int,
        _ name: String,
        _ disk: LossyDisk = LossyDisk()
    ) async throws -> [String] {
        let place = try TemporaryFile()
        let entries = try await recordedWork(at: durability, place)
        let moments = Self.moments(of: entries, points)
        var random = SplitMix(seed: Reliability.seed)
        var lossy = disk
        var promises = Promises()
        var (tried, runs) = (0, 0)
        var losses: [String] = []
        for (index, entry) in entries.enumerated() {
            if case .promised(let promise) = entry { promises.add(promise) }
            lossy.apply(entry)
            guard moments.contains(index) else { continue }
            for loss in LossyDisk.Loss.allCases {
                tried += 1
                let file = RebuiltFile(
                    contents: lossy.contents(after: loss, using: &random),
                    original: place.path,
                    mayUndoSettling: durability != .everything
                )
                let isRun = tried.isMultiple(of: Self.brokerInterval)
                if isRun { runs += 1 }
                let found = try await file.check(promises, runs: isRun)
                losses += found.map { "step \(index), \(loss) lost: \($0)" }
            }
        }
        try #require(tried == moments.count * LossyDisk.Loss.allCases.count && moments.count >= points / 2)
        try #require(promises.settled.count > 40 && promises.effected.count > 40)
        Reliability.report(
            "loss of power, \(name)",
            "\(tried) files of \(moments.count) points in \(entries.count) steps, \(runs) of them run on; "
                + "\(losses.count) losses; seed \(Reliability.seed)"
        )
        return losses
    }

    /// A quarter of the points lies in the making of the file, the others evenly behind it.
    private static func moments(of entries: [PowerJournal.Entry], _ points: Int) -> Set<Int> {
        let opened =
            entries.firstIndex {
                if case .promised = $0 { true } else { false }
            } ?? 0
        func spread(_ range: Range<Int>, _ count: Int) -> [Int] {
            (0..<count).map { range.lowerBound + ($0 + 1) * range.count / count - 1 }
        }
        let early = spread(0..<opened, min(opened, points / 4))
        return Set(early + spread(opened..<entries.count, points - early.count))
    }
}

// MARK: - The work

extension PowerLossTests {
    /// Three openings of a file, with work in each, as the disk saw them.
    private func recordedWork(
        at durability: Durability,
        _ place: TemporaryFile
    ) async throws -> [PowerJournal.Entry] {
        let journal = PowerJournal()
        let disk = try FaultyDisk()
        disk.observe(journal)
        for round in 0..<3 {
            var options = BrokerOptions()
            options.file.vfs = disk.name
            options.file.durability = durability
            // So few that the order is written behind.
            options.file.writeBehind.newest = 16
            options.file.writeBehind.batch = 8
            let broker = try await Broker(file: place.path, options: options)
            try await work(on: broker, journal, round, disk)
        }
        return journal.entries
    }

    /// Enqueues, runs, retries and settles, and leaves some of it to the next round.
    private func work(
        on broker: Broker,
        _ journal: PowerJournal,
        _ round: Int,
        _ disk: FaultyDisk
    ) async throws {
        try route(broker, journal)
        if broker.options.file.durability != .relaxed { try await beRefused(broker, journal, disk) }
        try await running(broker) {
            try await withThrowingTaskGroup { group in
                for lane in 0..<Self.lanes {
                    group.addTask { try await converse(lane, with: broker, journal) }
                }
                try await group.waitForAll()
            }
            // What follows begins the log anew.
            try await broker.fileEngine.store.checkpointPinnedWAL()
            try await converse(0, with: broker, journal)
            if round == 1 { try await broker.fileEngine.store.sync() }
        }
        // What the next round finds.
        for lane in 0..<Self.lanes {
            let receipt = try await broker.enqueue(Note("rest \(round)", in: Self.queue(lane)))
            journal.promise(.stored(receipt.id))
        }
        await broker.close()
    }

    /// An enqueue whose sync fails: its pages leave the log with all that was there.
    private func beRefused(_ broker: Broker, _ journal: PowerJournal, _ disk: FaultyDisk) async throws {
        disk.failSyncs(1)
        let code = await refusal { try await broker.enqueue(Note(RebuiltFile.refused, in: "lane/0")) }
        #expect(code == .inputOutput)
        journal.promise(.refused)
    }

    private static func queue(_ lane: Int) -> QueueName {
        QueueName(lane.isMultiple(of: 2) ? "lane/\(lane)" : "effect/\(lane)")
    }

    /// One after the other, each when the one before has been settled.
    private func converse(_ lane: Int, with broker: Broker, _ journal: PowerJournal) async throws {
        let lengths = [1, 10, 300, 3_000, 9_000]
        for number in 0..<8 {
            let word = number.isMultiple(of: 5) ? "again" : "once"
            let filling = String(repeating: "x", count: lengths[number % lengths.count])
            let receipt = try await broker.enqueue(Note("\(word) \(filling)", in: Self.queue(lane)))
            journal.promise(.stored(receipt.id))
            _ = try await receipt.settled()
            journal.promise(lane.isMultiple(of: 2) ? .settled(receipt.id) : .effected(receipt.id))
        }
    }

    private func route(_ broker: Broker, _ journal: PowerJournal) throws {
        @Sendable func isToBeRetried(_ note: Note, _ attempt: Attempt) -> Bool {
            attempt.number == 1 && note.text.hasPrefix("again")
        }
        try broker.route("lane/*", Note.self) { note, attempt in
            if isToBeRetried(note, attempt) { return .retry(after: .zero) }
            journal.promise(.ran(attempt.id))
            return .success
        }
        try broker.route("effect/*", Note.self) { note, attempt in
            if isToBeRetried(note, attempt) { return .retry(after: .zero) }
            return .success { transaction in
                let connection = try Connection(borrowing: transaction.connection)
                try connection.execute("CREATE TABLE IF NOT EXISTS effects (action INTEGER NOT NULL)")
                try connection.execute("INSERT INTO effects VALUES (\(attempt.id))")
            }
        }
    }
}
