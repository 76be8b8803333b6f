import CSluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A process that is alone on its file", .watched) struct AloneTests {
    /// What stands in the file for other processes, and what they are told.
    private static let tables = ["sluice_runner_rows", "sluice_changes", "sluice_checkpointer"]

    /// The statements that the writing connection runs: the others look for changes of whatever program.
    private final class Trace: Sendable {
        let statements = EventLog<String>()

        /// SQLite keeps no reference to it: it has to outlive the connection.
        func follow(_ connection: OpaquePointer) {
            sqlite3_trace_v2(
                connection,
                UInt32(SQLITE_TRACE_STMT),
                { _, context, statement, _ in
                    guard let context, let statement, let sql = sqlite3_sql(OpaquePointer(statement)) else {
                        return 0
                    }
                    let trace = Unmanaged<Trace>.fromOpaque(context).takeUnretainedValue()
                    trace.statements.append(String(cString: sql))
                    return 0
                },
                Unmanaged.passUnretained(self).toOpaque()
            )
        }
    }

    @Test("A drain asks nothing of others and tells them nothing", arguments: [false, true])
    func drain(hasResetBug: Bool) async throws {
        let site = try Site()
        let trace = Trace()
        let broker = try await site.broker {
            $0.file.hasResetBug = hasResetBug
            $0.file.prepareConnection = trace.follow
        }
        try broker.route("*", Note.self) { _, _ in .success }
        let counts = EventLog<Int>()
        try await running(broker) {
            await broker.waitUntilIdle()
            counts.append(trace.statements.elements.count)
            for batch in 0..<20 {
                try await broker.enqueue((0..<20).map { Note("\(batch)", in: QueueName("q/\($0 % 8)")) })
            }
            await broker.waitUntilIdle()
            counts.append(trace.statements.elements.count)
        }
        let (began, ended) = (counts.elements[0], counts.elements[1])
        let statements = trace.statements.elements
        func naming(_ statements: ArraySlice<String>) -> [String] {
            statements.filter { sql in Self.tables.contains { sql.contains($0) } }
        }
        // It has asked when it began.
        #expect(!naming(statements[..<began]).isEmpty)
        #expect(ended - began > 400)
        #expect(naming(statements[began..<ended]) == [])
        await broker.close()
        withExtendedLifetime(trace) {}
    }
}
