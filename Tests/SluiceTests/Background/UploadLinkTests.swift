import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice
@testable import SluiceBackground

/// A photo that goes to a link which the server has given out for some hours.
private struct Upload: Action {
    static let kind = "upload"
    var photo: String
    var link: String?
    var queue: QueueName { "uploads" }
}

@Suite("Background Operations: an upload link that dies after 3 hours", .watched)
struct UploadLinkTests {
    private static let hour = 3_600

    @Test(
        "It is attempted as long as the link lives and not after that; the policy for expired decides",
        arguments: FailurePolicy.allCases
    )
    func deadline(_ policy: FailurePolicy) async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let (background, system) = try site.background(broker)
        let start = site.clock.now
        let attempts = EventLog<String>()
        let isReachable = Mutex(false)
        let options = RouteOptions(
            retry: .fixed(.seconds(600)),
            failure: FailurePolicies(expired: policy)
        )
        try broker.route("uploads", Upload.self, options) { [clock = site.clock] upload, _ in
            attempts.append("\(upload.photo) at \((clock.now - start).components.seconds)")
            guard isReachable.withLock({ $0 }) else { throw TestError("no network") }
            return .success
        }
        try await following(background) {
            let link = EnqueueOptions(expiresAt: (start + .seconds(3 * Self.hour)).date)
            background.willEnterForeground()
            try await broker.enqueue(Upload(photo: "a", link: "https://up.example.org/1"), link)
            try await broker.enqueue(Upload(photo: "b"))
            try await until { broker.fileEngine.workAhead == .later(.seconds(600)) }
            await background.didEnterBackground()
            // The system gives time once an hour, and just before the link dies.
            for (index, seconds) in [Self.hour, 2 * Self.hour, 3 * Self.hour - 2].enumerated() {
                let count = 4 + 2 * index
                site.clock.advance(by: .seconds(seconds) - site.clock.uptime)
                system.beginProcessing()
                try await until {
                    broker.fileEngine.workAhead == .later(.seconds(600)) || system.log.elements.count == count
                }
                // It is looked at once a second.
                site.clock.advance(by: .seconds(1))
                try await until { system.log.elements.count == count }
            }
            // From now on the upload would succeed, and the server would refuse it.
            isReachable.withLock { $0 = true }
            site.clock.advance(by: .seconds(Self.hour))
            system.beginProcessing()
            try await until { background.state == .asleep }
        }
        #expect(attempts.elements.prefix(4) == ["a at 0", "a at 3600", "a at 7200", "a at 10798"])
        #expect(attempts.elements.dropFirst(4) == (policy == .skip ? ["b at 14399"] : []))
        let dead = try await broker.deadLetters()
        switch policy {
        case .skip:
            #expect(dead.map(\.cause) == [.expired] && dead.first?.attempts == 4)
            try await #expect(broker.actionCount() == 0)
        case .block:
            #expect(dead.isEmpty)
            let status = try await broker.status(of: "uploads")
            #expect(status.state == .parked && status.depth == 2)
        case .failQueue:
            #expect(dead.count == 2)
            try await #expect(broker.actionCount() == 0)
        }
        // For nothing of that was more time asked for.
        #expect(system.log.elements.last == "end processing, done, 0 locks")
        await broker.close()
    }

    @Test("What has expired is put back with a new link, at its old place")
    func newLink() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let links = EventLog<String?>()
        try broker.route("uploads", Upload.self) { upload, _ in
            links.append(upload.link)
            return .success
        }
        let options = EnqueueOptions(expiresAt: (site.clock.now + .seconds(3 * Self.hour)).date)
        let id = try await broker.enqueue(Upload(photo: "a", link: "old"), options).id
        site.clock.advance(by: .seconds(3 * Self.hour))
        try await running(broker) {
            try await until { try await broker.deadLetters(cause: .expired).map(\.id) == [id] }
            let hold = try await broker.hold("uploads", by: "test", reason: "a new link")
            #expect(try await broker.requeue(id))
            _ = try await broker.edit(id, to: Upload(photo: "a", link: "new"))
            try await broker.endHold(hold)
            _ = try await links.wait(forCount: 1)
        }
        #expect(links.elements == ["new"])
        await broker.close()
    }
}
