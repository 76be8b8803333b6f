import FaultVFS
import Foundation
import Sluice
import SluiceSQLite
import SluiceTestKit

/// What a lack of memory does at each allocation of a few steps, where points spread over a scenario are too
/// far apart.
extension CrashChild {
    /// `scarce`: writes what is wrong, a line each that begins with `violation`, and how often memory was
    /// short.
    static func lackMemory() async throws {
        guard let source = FaultSource("memory") else { throw CrashChildError.usage }
        let watchdog = Watchdog("without memory", progress: { source.faults })
        try readValues(source)
        try await setDurability(source)
        try await outgrowIndex(source)
        watchdog.end()
        say("\(source.faults) faults")
    }

    /// A value that cannot be read is an error, not another value.
    private static func readValues(_ source: FaultSource) throws {
        let file = try TemporaryFile()
        let connection = try Connection(path: file.path, mode: .create)
        defer { connection.close() }
        try connection.execute("CREATE TABLE numbers (number INTEGER NOT NULL)")
        try connection.execute("INSERT INTO numbers VALUES (123456789)")
        let statement = try connection.prepare("SELECT number FROM numbers")
        let expected = try statement.first { $0.text(0) }
        for call in 0..<20 {
            source.fail(behind: call, forEver: false)
            let found = Result { try statement.first { $0.text(0) } }
            source.mend()
            guard case .success(let value) = found, value != expected else { continue }
            say("violation: a number was read as '\(value ?? "nothing")'")
        }
    }

    /// Behind a lack of memory while durability is set, what is acknowledged is synced all the same.
    private static func setDurability(_ source: FaultSource) async throws {
        let options = Scenario.options(vfs: FaultSource.diskName, clock: FastClock())
        let file = try TemporaryFile()
        let broker = try await Broker(file: file.path, options: options)
        let step = Step(number: 1, lane: "plain/0")
        try await broker.enqueue(step)
        for call in 0..<150 {
            // Not synced, with which the next one changes the level.
            try await broker.fileEngine.store.readForeignChanges()
            source.fail(behind: call, forEver: false)
            _ = try? await broker.enqueue(step)
            source.mend()
            let before = source.syncs
            try await broker.enqueue(step)
            if source.syncs == before { say("violation: stored without a sync behind allocation \(call)") }
        }
        await broker.close()
    }

    /// A commit that outgrows the log's index needs memory behind its last write: refused for want of it, it
    /// is not found by who recovers the log.
    private static func outgrowIndex(_ source: FaultSource) async throws {
        // So many frames have room in the first part of the index, of one page each at least.
        let large = 4_062 * 4_096 - 1_500_000
        let last = String(repeating: "y", count: 2_000_000)
        var allocations = 0
        for call in 0...8 {
            let file = try TemporaryFile()
            var options = Scenario.options(vfs: FaultSource.diskName, clock: FastClock())
            options.maximumPayloadByteCount = 64 * 1_024 * 1_024
            let broker = try await Broker(file: file.path, options: options)
            let other = try Connection(path: file.path, mode: .write)
            try other.set(Pragma("wal_autocheckpoint", 0))
            try other.execute("CREATE TABLE filling (bytes)")
            try other.execute("INSERT INTO filling VALUES (zeroblob(\(large)))")
            other.close()
            // It takes in what has changed.
            try await broker.enqueue(Step(number: 1, lane: "plain/0"))
            let before = source.made
            // The first one counts; then it is the last allocation that fails, the last but one, and so on.
            if call > 0 { source.fail(behind: allocations - call, forEver: false) }
            do {
                try await broker.enqueue(Step(number: 2, lane: "plain/0", filling: last))
                if call == 0 { allocations = source.made - before }
            } catch let error as SluiceError {
                source.mend()
                if error.code != .unknownCommit, storedAfterCrash(file.path).contains(2) {
                    say("violation: refused, and stored if the machine stops now: allocation \(call)")
                }
            }
            source.mend()
            await broker.close()
        }
    }
}
