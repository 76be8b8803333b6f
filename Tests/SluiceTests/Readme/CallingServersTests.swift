import Foundation
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The guide on calling a server", .watched) struct CallingServersTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../..")

    @Test("Its code is the code that is tested here")
    func isTested() throws {
        let guide = try String(
            contentsOf: Self.root.appendingPathComponent("Sources/Sluice/Sluice.docc/CallingServers.md"),
            encoding: .utf8
        )
        let example = try String(
            contentsOf: Self.root.appendingPathComponent(
                "Tests/SluiceTests/Readme/CallingServersExample.swift"
            ),
            encoding: .utf8
        )
        let code = try #require(example.range(of: "/// The token that requests carry"))
        #expect(guide.contains(example[code.lowerBound...]))
    }

    /// A server whose tokens each serve for so many calls.
    private final class Server: Sendable {
        private let state = Mutex((calls: 0, token: 0, left: 0, logins: 0))
        static let callsOfToken = 5

        var counts: (calls: Int, logins: Int) { state.withLock { ($0.calls, $0.logins) } }

        func answer(to token: String) -> Int {
            state.withLock { state in
                state.calls += 1
                guard token == "\(state.token)", state.left > 0 else { return 401 }
                state.left -= 1
                return 200
            }
        }

        func logIn() -> String {
            state.withLock { state in
                (state.token, state.left, state.logins) = (
                    state.token + 1, Self.callsOfToken, state.logins + 1
                )
                return "\(state.token)"
            }
        }
    }

    @Test("Tokens that expire under ten queues cost few calls, and every message is sent")
    func tokens() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (server, session) = (Server(), Session())
        try route(broker, session) { _, token in server.answer(to: token) }
        // In a new file nobody has opened the gate.
        let login = Task { try await keepLoggedIn(broker, session) { server.logIn() } }
        try await until { broker.fileEngine.store.interest.isAny }
        for number in 0..<30 {
            try await broker.enqueue(SendMessage(conversation: "\(number % 10)", text: ""))
        }
        try await running(broker) {
            while broker.statistics.succeeded < 30 {
                try await until { broker.statistics.succeeded == 30 || broker.fileEngine.isAtRest(butFor: 0) }
                site.clock.advance(by: .seconds(1))
            }
        }
        login.cancel()
        // Each message once, and for each token at most one vain call of each queue.
        let (calls, logins) = server.counts
        let most = 30 + 10 * (30 / Server.callsOfToken + 1)
        #expect(calls <= most, "\(calls) calls, \(logins) logins")
        await broker.close()
    }

    @Test("If the first login fails, an answer 401 starts the next one, also in a new file")
    func firstLoginFails() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (server, session) = (Server(), Session())
        try route(broker, session) { _, token in server.answer(to: token) }
        let tries = Mutex(0)
        let login = Task {
            try await keepLoggedIn(broker, session) {
                let isFirst = tries.withLock { count in
                    count += 1
                    return count == 1
                }
                return isFirst ? nil : server.logIn()
            }
        }
        try await broker.enqueue(SendMessage(conversation: "1", text: ""))
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        login.cancel()
        #expect(tries.withLock { $0 } == 2)
        await broker.close()
    }

    @Test("A release by a gate that is open waits longer each time, up to a minute")
    func openGate() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<Duration>()
        try broker.route("*", Note.self) { _, _ in
            log.append(site.clock.uptime)
            return .release(untilOpen: "login")
        }
        try await broker.openGate("login")
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            for _ in 0..<300 {
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
                site.clock.advance(by: .seconds(1))
            }
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
        }
        let times: [Int64] = log.elements.map(\.components.seconds)
        #expect(times.count < 15, "\(times)")
        var waits: [Int64] = []
        for index in times.indices.dropFirst() { waits.append(times[index] - times[index - 1]) }
        #expect(waits == waits.sorted(), "\(waits)")
        #expect(waits.last == 60, "\(waits)")
        await broker.close()
    }
}
