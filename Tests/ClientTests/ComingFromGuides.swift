import Foundation
import Sluice
import SluiceTestKit
import Testing

// The code of the guides "Coming from …" on queues of today: each block of a guide that begins with
// "// Sluice", at the indentation of its function.

private struct Refused: Error {}

/// Remembers what it has got.
private final class FakeServer: Sendable {
    let log = EventLog<String>()

    func send(_ text: String, key: String) async throws {
        if text == "refused" { throw Refused() }
        log.append(text)
    }

    func prepare(_ photo: String) async throws { log.append("prepare \(photo)") }

    func upload(_ photo: String) async throws { log.append("upload \(photo)") }
}

@Suite("Guides: coming from others", .timeLimit(.minutes(1))) struct ComingFromGuidesTests {
    @Test(
        "The code of Sluice in the guides is the one that is compiled here",
        arguments: [("SwiftQueue", 2), ("SwiftJobs", 1), ("OperationQueue", 3)]
    )
    func isCompiled(_ name: String, _ count: Int) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        /// The text of a file, its lines without indentation.
        func text(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
                .map { String($0.drop { $0 == " " }) }
                .joined(separator: "\n")
        }
        let guide = try text("Sources/Sluice/Sluice.docc/ComingFrom\(name).md")
        let code = try text("Tests/ClientTests/ComingFromGuides.swift")
        let blocks = guide.components(separatedBy: "```swift\n// Sluice\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(blocks.count == count)
        for block in blocks { #expect(code.contains(block), "\(block)") }
    }

    @Test("Coming from SwiftQueue: a tweet waits for the network, a refused one is a dead letter")
    func swiftQueue() async throws {
        let file = try TemporaryFile()
        let (path, server) = (file.path, FakeServer())
        struct SendTweet: Action {
            static let kind = "send-tweet"
            var account: String
            var text: String
            var queue: QueueName { "account/\(account)" }
        }
        let broker = try await Broker(file: path)
        let options = RouteOptions(
            retry: .exponential().limited(to: 6),
            failure: .all(.skip),
            gates: ["network"]
        )
        try broker.route("account/*", SendTweet.self, options) { tweet, attempt in
            do {
                try await server.send(tweet.text, key: attempt.idempotencyKey)
                return .success
            } catch is Refused {
                return .fail("the server refused it")
            }
        }
        try await broker.enqueue(SendTweet(account: "7", text: "hello"))
        let running = Task { try await broker.run() }
        try await broker.openGate("network")
        func moveOver(_ tweet: SendTweet, job id: String) throws {
            let key = DeduplicationKey("job-\(id)", retention: .seconds(86_400))
            try broker.enqueueBlocking(tweet, EnqueueOptions(key: key))
        }
        try await broker.enqueue(SendTweet(account: "7", text: "refused"))
        // A crash between the two libraries moves a job twice.
        for _ in 1...2 { try moveOver(SendTweet(account: "7", text: "old"), job: "1") }
        await broker.waitUntilIdle()
        try moveOver(SendTweet(account: "7", text: "old"), job: "1")
        await broker.waitUntilIdle()
        #expect(server.log.elements == ["hello", "old"])
        try await #expect(broker.deadLetters("account/7").count == 1)
        await broker.close()
        try await running.value
        withExtendedLifetime(file) {}
    }

    @Test("Coming from swift-jobs: a message is sent, and the broker runs until its task is cancelled")
    func swiftJobs() async throws {
        let file = try TemporaryFile()
        let server = FakeServer()
        let serving = Task { try await Self.serve(file.path, server) }
        #expect(try await server.log.wait(forCount: 1) == ["hello"])
        serving.cancel()
        try await serving.value
        withExtendedLifetime(file) {}
    }

    private static func serve(_ path: String, _ server: FakeServer) async throws {
        struct SendMessage: Action {
            static let kind = "send-message"
            var conversation: String
            var text: String
            var queue: QueueName { "conversation/\(conversation)" }
        }
        var options = BrokerOptions()
        options.concurrency = 4
        let broker = try await Broker(file: path, options: options)
        let retries = RouteOptions(retry: .exponential().limited(to: 5), failure: .all(.skip))
        try broker.route("conversation/*", SendMessage.self, retries) { message, attempt in
            try await server.send(message.text, key: attempt.idempotencyKey)
            return .success
        }
        try await broker.enqueue(SendMessage(conversation: "7", text: "hello"))
        try await broker.run()
        await broker.close()
    }

    @Test("Coming from OperationQueue: the upload follows the preparation, and a hold stops both")
    func operationQueue() async throws {
        let file = try TemporaryFile()
        let (path, photos) = (file.path, FakeServer())
        struct Prepare: Action {
            static let kind = "prepare"
            var photo: String
            var queue: QueueName { "photo/\(photo)" }
        }
        struct Upload: Action {
            static let kind = "upload"
            var photo: String
            var queue: QueueName { "photo/\(photo)" }
        }
        let broker = try await Broker(file: path)
        try broker.route("photo/*", Prepare.self) { prepare, _ in
            try await photos.prepare(prepare.photo)
            return .success
        }
        try broker.route("photo/*", Upload.self) { upload, _ in
            try await photos.upload(upload.photo)
            return .success
        }
        try await broker.enqueue(contentsOf: [Prepare(photo: "a.jpg"), Upload(photo: "a.jpg")])
        let running = Task { try await broker.run() }
        await broker.waitUntilIdle()
        #expect(photos.log.elements == ["prepare a.jpg", "upload a.jpg"])
        struct Share: Action {
            static let kind = "share"
            var photo: String
            var queue: QueueName { "sharing" }
        }
        try broker.route("photo/*", Upload.self, RouteOptions(replaces: true)) { upload, _ in
            try await photos.upload(upload.photo)
            return .success { transaction in try transaction.enqueue(Share(photo: upload.photo)) }
        }
        try await broker.enqueue(Upload(photo: "b.jpg"))
        try await broker.waitUntilIdle("photo/*")
        // There is no route for it.
        try await #expect(broker.status(of: "sharing").depth == 1)
        try broker.configure("thumbnails", QueueOptions(discipline: .concurrent(4)))
        let hold = try await broker.hold("photo/*", by: "settings", reason: "uploads are off")
        try await broker.cancel(queues: "photo/*")
        try await broker.endHold(hold)
        try await broker.waitUntilIdle("photo/*")
        #expect(photos.log.elements.count == 3)
        await broker.close()
        try await running.value
        withExtendedLifetime(file) {}
    }
}
