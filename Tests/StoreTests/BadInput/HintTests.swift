import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Errors that say what is meant most likely", .watched)
struct HintTests {
    private struct Paint: Action {
        enum Color: String, Codable { case red, green }

        static let kind = "paint"
        var color: Color
        var queue: QueueName { "paints" }
    }

    @Test("A path with a ~ and a URL are told what to give instead")
    func paths() async throws {
        for (path, hint) in [
            ("~/outbox.sqlite", "give the whole path"), ("file:///tmp/outbox.sqlite", "url.path"),
        ] {
            let error = await #expect(throws: SluiceError.self) { _ = try await Broker(file: path) }
            #expect(error?.code == .cannotOpen)
            #expect(error?.message.contains(hint) == true, "\(String(describing: error))")
        }
    }

    @Test("G13: a case that an enumeration does not have is told by the type, without the value")
    func unknownCase() async throws {
        let broker = try await Site(.memory).broker()
        try broker.route("*", Paint.self) { _, _ in .success }
        try await broker.enqueue(raw: [
            RawAction(queue: "paints", kind: "paint", payload: #"{"color":"mauve"}"#)
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        let error = try await broker.status(of: "paints").lastError ?? ""
        #expect(error.hasSuffix("at 'color' it is none of the cases of Color"), "\(error)")
        #expect(!error.contains("mauve"))
        await broker.close()
    }

    @Test(
        "What looks like another library's pattern is refused for a route, with the pattern to write",
        arguments: ["conversation/", "conversation/:id", "conversation/{id}", "a/b/{room_name}"]
    )
    func patterns(_ pattern: String) async throws {
        let broker = try await Site(.memory).broker()
        let name = QueuePattern(pattern)
        let meant = pattern.split(separator: "/").count == 3 ? "'a/b/*'" : "'conversation/*'"
        let route = #expect(throws: SluiceError.self) { try broker.routeNotes(name, to: EventLog<String>()) }
        let options = #expect(throws: SluiceError.self) {
            try broker.configure(name, QueueOptions(maximumDepth: 1))
        }
        for error in [route, options] {
            #expect(error?.code == .invalidPattern)
            #expect(error?.message.contains(meant) == true, "\(String(describing: error))")
        }
        await broker.close()
    }

    @Test(
        "Names of queues that only resemble such patterns are routed",
        arguments: ["a/{3F2504E0-4F89}", "a/:1", "u:42", "{id}"]
    )
    func names(_ name: String) async throws {
        let broker = try await Site(.memory).broker()
        try broker.routeNotes(QueuePattern(name), to: EventLog<String>())
        await broker.close()
    }

    #if os(Linux)
    @Test(
        "G14: an enqueue inside a transaction of one's own is told so, in the log before it gives up"
    )
    func ownTransaction() async throws {
        let (site, lines) = (try Site(.file), EventLog<String>())
        let broker = try await site.broker {
            $0.file.lockTimeout = .milliseconds(1_100)
            $0.logger = .keeping(lines, from: .warning)
        }
        let application = try Application(site)
        let error = try application.transaction { _ in
            #expect(throws: SluiceError.self) { try broker.enqueueBlocking(Note("a")) }
        }
        #expect(error?.code == .databaseLocked)
        #expect(error?.message.contains("a transaction of this process holds the write lock") == true)
        let told = lines.elements.filter { $0.contains("a write waits for a transaction of this process") }
        #expect(told.count == 1)
        try await broker.enqueue(Note("b"))
        await broker.close()
    }
    #endif
}
