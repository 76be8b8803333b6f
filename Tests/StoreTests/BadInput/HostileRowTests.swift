import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// One value of one row is another than the engine has ever written.
///
/// `SLUICE_BAD_INPUT` sets how many are tried; 0 is each value in each column. `SLUICE_SEED` repeats which.
@Suite("Files with hostile values", .watched(minutes: 60)) struct HostileRowTests {
    @Test("G10, G14: a file that nobody has touched runs all of its actions, and tells of no error")
    func control() async throws {
        let file = try await FullFile.make()
        let place = try FullFile.write(file.bytes)
        let report = await RoughUse(place).run()
        #expect(report.faults == [] && report.errors.isEmpty, "\(report.errors)")
        #expect(report.ran.isSuperset(of: file.runnable), "\(file.runnable.subtracting(report.ran))")
        #expect(report.newRan && file.runnable.count > 60 && file.deadLetters.count > 4)
        #expect(report.exported.union(report.ran).isSuperset(of: file.actions.keys))
        let columns = try HostileFile(file).columns
        let tables = Set(columns.map(\.table))
        #expect(tables.count >= 20 && columns.count > 120, "\(tables.sorted())")
    }

    @Test("G9, G10, G14: with any value in any column nothing is lost, and the other queues go on")
    func anyValue() async throws {
        let file = try await FullFile.make()
        let hostile = try HostileFile(file)
        var random = SplitMix(seed: Reliability.seed)
        let all = hostile.columns.flatMap { column in HostileValue.all.map { (column, $0) } }
        let cases = BadInput.sample(all, 60, using: &random)
        var (tried, refused, opened) = (0, 0, 0)
        for (column, value) in cases {
            guard let target = try hostile.written(value, to: column, using: &random) else {
                // SQLite itself does not take it: there is no such file.
                refused += 1
                continue
            }
            tried += 1
            let report = await RoughUse(target.place).run()
            if report.isOpened { opened += 1 }
            let found = try file.breaches(report, target)
            #expect(found == [], "\(column) = \(value.name); SLUICE_SEED=\(Reliability.seed)")
        }
        Reliability.report(
            "hostile values",
            "\(tried) files, \(opened) of them opened, \(refused) values that SQLite does not take, "
                + "of \(all.count) in \(hostile.columns.count) columns; seed \(Reliability.seed)"
        )
        #expect(tried > 0 && opened > 0)
    }

    @Test(
        "G10: an action whose number no engine has given runs, and the broker becomes idle",
        arguments: [0, -1, .min]
    )
    func number(_ number: Int64) async throws {
        let site = try Site()
        let broker = try await site.broker()
        for text in ["waits", "stays"] { try await broker.enqueue(Note(text)) }
        let soon = Date(timeIntervalSince1970: Double(site.clock.wallMicroseconds) / 1e6 + 60)
        try await broker.enqueue(Note("later", in: "later"), notBefore: soon)
        await broker.close()
        try site.shell(
            """
            UPDATE sluice_action_rows SET id = \(number == .min ? "-9223372036854775807 - 1" : "\(number)")
            WHERE id = 1;
            UPDATE sluice_action_rows SET id = -2 WHERE id = 3;
            """
        )
        let again = try await site.broker()
        let log = EventLog<String>()
        try again.routeNotes(to: log)
        try await running(again) {
            _ = try await log.wait(forCount: 2)
            site.clock.advance(by: .seconds(60))
            await again.waitUntilIdle()
        }
        #expect(log.elements == ["waits", "stays", "later"])
        await again.close()
    }

    @Test("G9: a queue whose claim fails, for what its rows hold, keeps no other queue from starting")
    func neighbours() async throws {
        let site = try Site()
        let broker = try await site.broker()
        for queue in ["a", "b", "c"] as [QueueName] { try await broker.enqueue(Note("\(queue)", in: queue)) }
        await broker.close()
        // All three are claimed in one transaction.
        try site.shell(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_claim_rows WHEN new.action_id = 2
            BEGIN SELECT RAISE(ABORT, 'planted'); END;
            """
        )
        let again = try await site.broker()
        let log = EventLog<String>()
        try again.routeNotes(to: log)
        try await running(again) { _ = try await log.wait(forCount: 2) }
        #expect(log.elements.sorted() == ["a", "c"])
        try await #expect(again.actionCount() == 1)
        await again.close()
    }
}

extension FullFile {
    /// What is not as it is promised of a file with a hostile value.
    fileprivate func breaches(_ report: RoughUse.Report, _ target: HostileFile.Target) throws -> [String] {
        var found = report.faults
        func expectNone(_ actions: Set<ActionID>, _ words: String) {
            guard !actions.isEmpty else { return }
            let named = actions.sorted().map { "\($0) of \(self.actions[$0].map { "\($0)" } ?? "?")" }
            found.append("\(words) \(named); errors \(report.errors)")
        }
        let all = Set(actions.keys).union(deadLetters).subtracting([target.mayGo].compactMap { $0 })
        expectNone(all.subtracting(report.ran).subtracting(try Self.kept(in: target.place.path)), "lost")
        guard report.isOpened, !target.isOfAll || report.errors.isEmpty else { return found }
        let others = actions.filter { !target.queues.contains($0.value) }
        expectNone(
            runnable.intersection(others.keys).subtracting(report.ran).subtracting(
                [target.mayGo].compactMap { $0 }
            ),
            "stuck in other queues:"
        )
        if report.newStored, !report.newRan { found.append("did not run what was enqueued") }
        return found
    }
}
