import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Tables that are rebuilt under their actions", .timeLimit(.minutes(2)))
struct CascadeRepairTests {
    private static let rebuild = """
        CREATE TABLE new_messages (id INTEGER PRIMARY KEY, text TEXT, extra);
        INSERT INTO new_messages (id, text) SELECT id, text FROM messages WHERE id <> 1;
        DROP TABLE messages;
        ALTER TABLE new_messages RENAME TO messages;
        """

    private func row(_ id: Int64) -> EnqueueOptions { EnqueueOptions(row: RowReference("messages", id)) }

    /// A file with three messages and an action for each, and no broker.
    private func site() async throws -> (Site, Application) {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        try await broker.cascade(from: "messages")
        for id in 1...3 { try await broker.enqueue(Note("\(id)"), row(Int64(id))) }
        await broker.close()
        return (site, application)
    }

    @Test("Opening makes the triggers again, and what belongs to rows that went meanwhile goes")
    func opening() async throws {
        let (site, application) = try await site()
        try application.execute(Self.rebuild)
        let broker = try await site.broker()
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3])
        try application.execute("DELETE FROM messages WHERE id = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [3])
        await broker.close()
    }

    @Test("While a broker has the file open, enqueues are refused until the call is made again")
    func calledAgain() async throws {
        let (site, application) = try await site()
        let broker = try await site.broker()
        try application.execute(Self.rebuild)
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row(2))
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3, 4])
        await broker.close()
    }

    @Test("A table that is renamed keeps its actions under its new name")
    func renamed() async throws {
        let (site, application) = try await site()
        try application.execute("ALTER TABLE messages RENAME TO letters")
        let broker = try await site.broker()
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("letters", 2)))
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try application.execute("DELETE FROM letters WHERE id = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }

    @Test("A table that is dropped has no rows, and its actions go")
    func dropped() async throws {
        let (site, application) = try await site()
        try application.execute("DROP TABLE messages")
        let broker = try await site.broker()
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A column that is renamed is named anew by the next call")
    func columnRenamed() async throws {
        let (site, application) = try await site()
        try application.execute("ALTER TABLE messages RENAME COLUMN id TO number")
        let broker = try await site.broker()
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row(2))
        try application.execute("DELETE FROM messages WHERE number = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }
}
