#if GRDB
import Foundation
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import Testing

@testable import ChatOutbox

/// An outbox on a file of the test, with an account that is logged in.
struct Site {
    let test: TestBroker
    let pool: DatabasePool
    let server = TestServer()

    init() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        let pool = try openDatabase(file.path)
        // As `Broker(sharing:)` does, which a test's broker does not use.
        try await pool.prepareForSluice()
        self.pool = pool
        // Called again after a restart and after a crash: with the routes of the accounts that are known.
        test = try await TestBroker(file) { [server] broker in
            try Outbox(pool: pool, broker: broker).addRoutes(server)
        }
        try await test.broker.openGate("network", isPersistent: true)
        try await outbox.logIn("ana", server)
    }

    /// With the broker of now: a crash opens another one.
    var outbox: Outbox { Outbox(pool: pool, broker: test.broker) }

    func deliveries(of account: String = "ana") async throws -> [Delivery] {
        try await outbox.lines(of: Account(id: account)).map(\.delivery)
    }
}

@Suite("The outbox", .timeLimit(.minutes(1))) struct OutboxTests {
    @Test("After a crash in the middle of a send the message is sent again, and the server has it once")
    func crash() async throws {
        let site = try await Site()
        // The server has the message, and its answer does not come.
        site.server.duringNextCall { _ = try await EventLog<Void>().wait(forCount: 1) }
        let message = try await site.outbox.send("hello", to: "42", of: "ana")
        try await site.outbox.send("next", to: "42", of: "ana")
        try await site.test.start()
        _ = try await site.server.calls.wait(forCount: 1)
        #expect(try await site.deliveries() == [.sending, .waiting])

        try await site.test.crash()
        try await site.test.drain()
        #expect(
            site.server.calls.elements.prefix(2).map { $0 }
                == Array(repeating: "PUT messages/\(message.id)", count: 2)
        )
        #expect(site.server.texts.values.sorted() == ["hello", "next"])
        #expect(try await site.deliveries() == [.sent, .sent])
    }

    @Test("A message is stored, sent and marked")
    func send() async throws {
        let site = try await Site()
        let message = try await site.outbox.send("hello", to: "42", of: "ana")
        #expect(try await site.deliveries() == [.waiting])
        try await site.test.drain()
        #expect(site.server.texts == [message.id: "hello"])
        #expect(try await site.deliveries() == [.sent])
    }

    @Test("If the application's transaction fails, neither the message nor its action is stored")
    func rollback() async throws {
        let site = try await Site()
        await #expect(throws: (any Error).self) {
            try await site.outbox.send("hello", to: "42", of: "nobody")
        }
        #expect(try await site.test.broker.actionCount() == 0)
    }

    @Test("A conversation whose name no queue can have is refused, and an empty one is not")
    func names() async throws {
        let site = try await Site()
        for name in ["*", String(repeating: "x", count: 600)] {
            await #expect(throws: SluiceError.self) {
                try await site.outbox.send("hello", to: name, of: "ana")
            }
        }
        #expect(try await site.deliveries().isEmpty)
        try await site.outbox.send("hello", to: "", of: "ana")
        #expect(try await site.test.broker.status(of: "chat/ana/").depth == 1)
    }

    @Test("A busy server stops one account for as long as it asks, and no other")
    func busy() async throws {
        let site = try await Site()
        try await site.outbox.logIn("bo", site.server)
        site.server.answerNext(Answer(status: 429, retryAfter: "30"))
        try await site.outbox.send("one", to: "42", of: "ana")
        try await site.test.drain()
        try await site.outbox.send("two", to: "43", of: "ana")
        try await site.outbox.send("three", to: "42", of: "bo")
        try await site.test.drain()
        #expect(site.server.texts.values.sorted() == ["three"])
        let obstacle = try await site.outbox.obstacle(of: "43", of: Account(id: "ana"))
        #expect(obstacle?.hasPrefix("the server is busy until ") == true)

        try await site.test.drain(for: .seconds(40))
        #expect(site.server.texts.values.sorted() == ["one", "three", "two"])
    }

    @Test("A token that expires under two conversations is renewed once, and nothing is lost")
    func expired() async throws {
        let site = try await Site()
        let login = Task { [outbox = site.outbox] in try await outbox.keepLoggedIn(site.server) }
        site.server.limitTokens(to: 1)
        for conversation in ["1", "2"] {
            try await site.outbox.send("hello", to: conversation, of: "ana")
            try await site.outbox.send("again", to: conversation, of: "ana")
        }
        try await site.test.start()
        try await site.test.events.wait(for: .gateClosed)
        _ = try await site.server.logins.wait(forCount: 2)
        while site.server.texts.count < 4 { try await site.test.drain(for: .seconds(1)) }
        #expect(site.server.logins.elements.count == 2)
        // The login has ended the wait for the answer 401.
        #expect(site.test.clock.uptime < .seconds(250))
        #expect(try await site.deliveries() == [.sent, .sent, .sent, .sent])
        login.cancel()
    }

    @Test("A late answer 401 to an old token closes nothing")
    func late() async throws {
        let site = try await Site()
        site.server.answerNext(Answer(status: 401))
        // The user logs in once more while the call is under way.
        site.server.duringNextCall { [outbox = site.outbox, server = site.server] in
            try await outbox.logIn("ana", server)
        }
        try await site.outbox.send("hello", to: "42", of: "ana")
        try await site.test.drain()
        #expect(try await site.test.broker.gates().allSatisfy(\.isOpen))
        try await site.test.drain(for: .seconds(1))
        #expect(try await site.deliveries() == [.sent])
    }

    @Test("A message that is too large is refused, the next is sent, and an edit sends it after all")
    func tooLarge() async throws {
        let site = try await Site()
        let text = String(repeating: "x", count: 2_000)
        let message = try await site.outbox.send(text, to: "42", of: "ana")
        try await site.outbox.send("next", to: "42", of: "ana")
        try await site.test.drain()
        #expect(try await site.deliveries() == [.refused("too large"), .sent])

        #expect(try await site.outbox.edit(message.id, to: "short"))
        try await site.test.drain()
        #expect(try await site.deliveries() == [.sent, .sent])
        #expect(site.server.texts[message.id] == "short")
    }

    @Test("An attachment is uploaded before its message, and one that is refused keeps the message here")
    func attachment() async throws {
        let site = try await Site()
        let file = try TemporaryFile(name: "photo.jpg")
        try Data("a photo".utf8).write(to: URL(fileURLWithPath: file.path))
        let message = try await site.outbox.send("look", to: "42", of: "ana", attachment: file.path)
        try await site.test.drain()
        #expect(
            site.server.calls.elements == ["PUT attachments/\(message.id)", "PUT messages/\(message.id)"]
        )

        try Data(count: 2_000).write(to: URL(fileURLWithPath: file.path))
        let large = try await site.outbox.send("larger", to: "42", of: "ana", attachment: file.path)
        try await site.test.drain()
        #expect(try await site.deliveries() == [.sent, .refused("too large")])
        #expect(site.server.texts[large.id] == nil)
    }

    @Test("A message that is edited while it is being sent is sent once more, with its new text")
    func edited() async throws {
        let site = try await Site()
        let message = try await site.outbox.send("helo", to: "42", of: "ana")
        site.server.duringNextCall { [outbox = site.outbox] in
            _ = try await outbox.edit(message.id, to: "hello")
        }
        try await site.test.drain()
        #expect(site.server.calls.elements.count == 2)
        #expect(site.server.texts == [message.id: "hello"])
        #expect(try await site.deliveries() == [.sent])
    }

    @Test("A message that is deleted while it waits is never sent; one that is being sent is deleted there")
    func deleted() async throws {
        let site = try await Site()
        let first = try await site.outbox.send("first", to: "42", of: "ana")
        let second = try await site.outbox.send("second", to: "42", of: "ana")
        site.server.duringNextCall { [outbox = site.outbox] in
            // In a task of its own, as that of the handler is cancelled.
            let user = Task {
                _ = try await outbox.delete(first.id)
                _ = try await outbox.delete(second.id)
            }
            try await user.value
        }
        try await site.test.drain()
        #expect(site.server.texts.isEmpty)
        let calls = site.server.calls.elements
        #expect(calls == ["PUT messages/\(first.id)"] + [first, second].map { "DELETE messages/\($0.id)" })
        #expect(try await site.deliveries().isEmpty)
    }

    @Test("With an account go its messages and actions, and another account goes on")
    func loggedOut() async throws {
        let site = try await Site()
        try await site.outbox.logIn("bo", site.server)
        try await site.outbox.send("of ana", to: "42", of: "ana")
        let deleted = try await site.outbox.send("of ana too", to: "42", of: "ana")
        _ = try await site.outbox.delete(deleted.id)
        let message = try await site.outbox.send("of bo", to: "42", of: "bo")
        try await site.outbox.logOut(Account(id: "ana"))
        try await site.test.drain()
        #expect(site.server.texts == [message.id: "of bo"])
        #expect(try await site.test.broker.actionCount() == 0)
        #expect(try await site.deliveries().isEmpty)
        #expect(try await site.deliveries(of: "bo") == [.sent])
    }

    @Test("A restart goes on where the last run ended")
    func restart() async throws {
        let site = try await Site()
        site.server.answerNext(Answer(status: 503, retryAfter: "60"))
        try await site.outbox.send("hello", to: "42", of: "ana")
        try await site.test.drain()
        try await site.test.restart()
        #expect(site.server.texts.isEmpty)
        try await site.test.drain(for: .seconds(120))
        #expect(try await site.deliveries() == [.sent])
    }
}
#endif
