import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// A disk, a copy or somebody's hand has damaged a page of the file, or cut it.
///
/// `SLUICE_BAD_INPUT` sets how many damages are tried; 0 is every kind at every page. `SLUICE_SEED` repeats
/// which.
@Suite("Damaged files", .watched(minutes: 60)) struct DamagedFileTests {
    @Test("G10, G14: with any page damaged or cut off the file is used on or refused by a typed error")
    func anyPage() async throws {
        let file = try await FullFile.make()
        var random = SplitMix(seed: Reliability.seed)
        let all = Damage.all(pages: file.pageCount, using: &random)
        let damages = BadInput.sample(all, 60, using: &random)
        var counts = Counts()
        for damage in damages {
            let place = try FullFile.write(damage.apply(to: file.bytes))
            let untouched = file.untouched(in: place.path)
            let report = await RoughUse(place).run()
            counts.add(report)
            let found = breaches(report, of: file, untouched, damage)
            #expect(found == [], "\(damage); SLUICE_SEED=\(Reliability.seed)")
        }
        try #require(file.pageCount > 100 && damages.count >= min(all.count, BadInput.number(usually: 60)))
        Reliability.report(
            "damaged files",
            "\(damages.count) of \(all.count) damages to \(file.pageCount) pages: \(counts); "
                + "seed \(Reliability.seed)"
        )
        #expect(counts.opened > 0 && counts.refused > 0)
    }

    @Test("G15: an order that is lost without a trace is named by the full check, and read anew as it says")
    func lostOrder() async throws {
        let file = try await FullFile.make()
        let place = try FullFile.write(file.bytes)
        func missing() throws -> Int { try FileFacts(of: place.path, isFull: true).missingPlaceCount }
        let before = try missing()
        let connection = try Connection(path: place.path, mode: .write)
        defer { connection.close() }
        try connection.execute("DELETE FROM sluice_order_rows")
        let without = try missing()
        #expect(before == 0 && without > 0)
        try connection.execute(FileFacts.missingPlacesRemedy)
        #expect(try missing() == 0)
        let report = await RoughUse(place).run()
        #expect(file.runnable.subtracting(report.ran) == [])
    }

    @Test("A file of zero length is a new one, and one that is cut within its first page is refused")
    func stubs() async throws {
        let file = try await FullFile.make()
        let empty = try await RoughUse(FullFile.write([])).run()
        #expect(empty.newRan && empty.errors.isEmpty && empty.faults == [], "\(empty.errors)")
        // To SQLite a file of one byte is empty.
        for count in [2, 16, 100, 512, FullFile.pageSize - 1] {
            let place = try FullFile.write(Array(file.bytes.prefix(count)))
            let report = await RoughUse(place).run()
            let code = report.code(of: "open")
            #expect(code == .notADatabase || code == .corrupt, "\(count): \(report.errors)")
            #expect(DatabaseFile.byteCount(of: place.path) == count)
        }
    }

    /// What is not as it is promised.
    private func breaches(
        _ report: RoughUse.Report,
        of file: FullFile,
        _ untouched: Set<ActionID>,
        _ damage: Damage
    ) -> [String] {
        var found = report.faults
        for (task, error) in report.errors {
            guard let error = error as? SluiceError else { continue }
            if !Self.codes.contains(error.code) { found.append("\(task) threw \(error)") }
        }
        if case .cut(to: 0) = damage { return found }
        // What SQLite's own check does not find is content of rows. What stands behind such a row, which may
        // keep its queue, is not lost either.
        let kept = Set(file.actions.filter { !untouched.contains($0.key) }.values)
        let free = file.runnable.filter { action in file.actions[action].map { !kept.contains($0) } ?? true }
        let lost = free.subtracting(report.ran).subtracting(report.dead)
        if !report.isDamageFound, !lost.isEmpty { found.append("lost \(lost.map(\.rawValue).sorted())") }
        if !report.isDamageFound, !report.newRan { found.append("did not run what was enqueued") }
        return found
    }

    /// What a damaged file may be told to be.
    private static let codes: Set<SluiceError.Code> = [
        .corrupt, .notADatabase, .newerSchema, .storage, .unsupportedDatabase, .inputOutput, .sortKeyMismatch,
    ]

    private struct Counts: CustomStringConvertible {
        var (opened, refused, found, silent) = (0, 0, 0, 0)

        mutating func add(_ report: RoughUse.Report) {
            if report.isOpened { opened += 1 } else { refused += 1 }
            if report.isDamageFound { found += 1 } else { silent += 1 }
        }

        var description: String {
            "\(opened) opened, \(refused) refused, \(found) named by the doctor, "
                + "\(silent) in what no check sees"
        }
    }
}
