import Foundation
import SluiceSQLite
import Synchronization

@testable import Sluice

/// Writes values of every sort into the rows of a file whose schema lets everything in, and has a broker open
/// it, look at all of it and run it.
enum RowTarget {
    private struct Column {
        let table: String
        let name: String
    }

    /// The file before anything was written to it, and what its columns are.
    private static let origin: (bytes: Data, columns: [Column]) = makeOrigin()

    private static let path: String = {
        let shared = "/dev/shm"
        let folder = FileManager.default.fileExists(atPath: shared) ? shared : NSTemporaryDirectory()
        return "\(folder)/sluice-fuzz-\(ProcessInfo.processInfo.processIdentifier).sqlite"
    }()

    private struct Item: Action {
        static let kind = "item"
        var text: String
        var queue: QueueName { "q" }
    }

    static func take(_ bytes: [UInt8]) {
        let origin = origin
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        guard FileManager.default.createFile(atPath: path, contents: origin.bytes) else { return }
        var rest = bytes[...]
        do {
            let connection = try Connection(path: path, mode: .write)
            try connection.execute("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF")
            for _ in 0..<4 {
                guard let first = rest.popFirst() else { break }
                let column = origin.columns[Int(first) % origin.columns.count]
                let value = value(&rest)
                _ = try? connection.prepare("UPDATE OR IGNORE \(column.table) SET \(column.name) = \(value)")
                    .run()
            }
            connection.close()
        } catch {
            return
        }
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            await use()
            done.signal()
        }
        expect(done.wait(timeout: .now() + 20) == .success, "it does not come to an end")
    }

    /// A value as SQL.
    private static func value(_ rest: inout ArraySlice<UInt8>) -> String {
        func take(_ count: Int) -> [UInt8] {
            let part = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            return part
        }
        func number() -> Int64 { take(8).reduce(0) { $0 << 8 | Int64($1) } }
        switch (rest.popFirst() ?? 0) % 8 {
        case 0: return "NULL"
        case 1:
            let number = number()
            return number == .min ? "0" : String(number)
        case 2: return "(-9223372036854775807 - 1)"
        case 3:
            return ["0", "1", "-1", "9223372036854775807", "9e999", "-9e999", "1e308"][
                Int(take(1).first ?? 0) % 7
            ]
        case 4: return "CAST(\(number()) AS REAL) / 3"
        case 5: return "CAST(x'\(hex(take(Int(take(1).first ?? 0))))' AS TEXT)"
        case 6: return "x'\(hex(take(16)))'"
        default:
            return ["'arrival'", "'integer'", "'date'", "'real'", "'text'", "'failing'", "'gate'"][
                Int(take(1).first ?? 0) % 7
            ]
        }
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    private static func use() async {
        var options = BrokerOptions()
        options.file.durability = .relaxed
        options.file.watchesWAL = false
        options.file.lockTimeout = .zero
        // What is thrown is of the library's own type; that it is thrown, and nothing traps, is what counts.
        _ = try? FileFacts(of: path, isFull: false)
        guard let broker = try? await Broker(file: path, options: options) else { return }
        try? await look(broker)
        try? await work(broker)
        await broker.close()
    }

    private static func look(_ broker: Broker) async throws {
        for status in try await broker.statuses() { _ = "\(status) \(status.because.map { "\($0)" })" }
        _ = try await broker.actionSummaries().map { "\($0)" }
        for letter in try await broker.deadLetters() { _ = try await broker.failedAttempts(of: letter.id) }
        _ = "\(try await broker.holds()) \(try await broker.gates())"
        _ = try await broker.file?.health()
    }

    private static func work(_ broker: Broker) async throws {
        try broker.route("*", Item.self, RouteOptions(retry: .fixed(.zero).limited(to: 2))) {
            item,
            _ in
            item.text == "retry" ? .retry : .success
        }
        _ = try? await broker.enqueue(Item(text: "new"))
        _ = try? await broker.requeueAll("*")
        let run = Task { try await broker.run() }
        await wait(for: broker)
        await broker.stop(grace: .zero)
        // One that has not begun to run has nothing to stop: it must not begin behind this.
        run.cancel()
        _ = await run.result
    }

    /// Lets it run until it is idle, or for some turns: one that cannot read its file tries again and again.
    private static func wait(for broker: Broker) async {
        let isIdle = IdleFlag()
        await withTaskGroup { group in
            group.addTask {
                await broker.waitUntilIdle()
                isIdle.set()
            }
            for _ in 0..<2_000 where !isIdle.isSet { await Task.yield() }
            group.cancelAll()
        }
    }

    private static func makeOrigin() -> (Data, [Column]) {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            await fill()
            done.signal()
        }
        done.wait()
        do {
            let connection = try Connection(path: path, mode: .write)
            let tables = try connection.prepare(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sluice%' ORDER BY name"
            )
            .all { $0.text(0) }
            var columns: [Column] = []
            for table in tables {
                columns += try connection.prepare("SELECT name FROM pragma_table_info('\(table)')")
                    .all { Column(table: table, name: $0.text(0)) }
            }
            try connection.execute(
                """
                PRAGMA writable_schema = ON;
                UPDATE sqlite_schema
                SET sql = replace(replace(sql, ') STRICT, WITHOUT ROWID', ') WITHOUT ROWID'), ') STRICT', ')')
                WHERE type = 'table' AND name LIKE 'sluice%';
                PRAGMA writable_schema = RESET;
                """
            )
            connection.close()
            return (try Data(contentsOf: URL(fileURLWithPath: path)), columns)
        } catch {
            expect(false, "no file to begin with: \(error)")
            return (Data(), [])
        }
    }

    /// Work of every sort.
    private static func fill() async {
        do {
            let broker = try await Broker(file: path)
            try broker.route("dead", Item.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
            try broker.route("parked", Item.self) { _, _ in .fail("no") }
            for queue in ["q", "dead", "parked", "other"] {
                for _ in 0..<3 {
                    try await broker.enqueue(raw: [
                        RawAction(queue: QueueName(queue), kind: "item", payload: #"{"text":"retry"}"#)
                    ])
                }
            }
            try await broker.hold("held", by: "fuzz")
            let run = Task { try await broker.run() }
            await broker.waitUntilIdle()
            await broker.stop()
            _ = await run.result
            await broker.close()
        } catch {
            expect(false, "no file to begin with: \(error)")
        }
    }
}

/// Set once.
private final class IdleFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}
