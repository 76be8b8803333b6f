import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Versions of one kind: a name in one piece, in two pieces, and in two pieces with other names.
private struct Greeting1: Action {
    static let kind = "greeting"
    var name: String
    var queue: QueueName { "greetings" }
}

private struct Greeting2: Action {
    static let kind = "greeting"
    static let version = 2
    var first: String
    var last: String
    var queue: QueueName { "greetings" }
}

private struct Greeting3: Action {
    static let kind = "greeting"
    static let version = 3
    var given: String
    var family: String
    var queue: QueueName { "greetings" }
}

/// What a payload of the second version looks like, by a type that is no action.
private struct OldGreeting: Decodable {
    var first: String
    var last: String
}

/// The step from the first version to the second, as text.
private let splitting: @Sendable (String) throws -> String = { payload in
    let old = try JSONDecoder().decode(Greeting1.self, from: Data(payload.utf8))
    let words = old.name.split(separator: " ").map(String.init)
    return #"{"first":"\#(words[0])","last":"\#(words[1])"}"#
}

extension Broker {
    fileprivate func upgradeSecond() throws {
        try upgrade(Greeting3.self, from: 2, reading: OldGreeting.self) {
            Greeting3(given: $0.first, family: $0.last)
        }
    }

    fileprivate func routeThird(to log: EventLog<String>) throws {
        try route("*", Greeting3.self) { greeting, attempt in
            log.append("\(greeting.given)/\(greeting.family) v\(attempt.version) #\(attempt.number)")
            return .success
        }
    }
}

@Suite("Payloads of other versions", .watched) struct EvolutionTests {
    @Test("An action is stored in its type's version, a raw one in the version that it gives, or the first")
    func stored() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let payload = #"{"a":1}"#
        try await broker.enqueue(Greeting3(given: "Ada", family: "Lovelace"))
        try await broker.enqueue([Greeting1(name: "Ada")])
        try broker.enqueueBlocking(Greeting2(first: "Ada", last: "Lovelace"))
        try await broker.enqueue(raw: [
            RawAction(queue: "greetings", kind: "k", version: 7, payload: payload),
            RawAction(queue: "greetings", kind: "k", payload: payload),
        ])
        let versions = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT version FROM sluice_actions ORDER BY id").all { $0.int(0) }
        }
        #expect(versions == [3, 1, 2, 7, 1])
        await broker.close()
    }

    @Test("G10: a payload goes through the upgraders of each version, and stays in the file as it was")
    func steps() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.upgrade(Greeting3.self, from: 1, splitting)
        try broker.upgradeSecond()
        try broker.route("*", Greeting3.self, RouteOptions(failure: .all(.skip))) { greeting, attempt in
            log.append("\(greeting.given)/\(greeting.family) v\(attempt.version)")
            return greeting.given == "Ada" ? .fail("kept") : .success
        }
        try await broker.enqueue(Greeting1(name: "Ada Lovelace"))
        try await broker.enqueue(Greeting2(first: "Alan", last: "Turing"))
        try await broker.enqueue(Greeting3(given: "Grace", family: "Hopper"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["Ada/Lovelace v1", "Alan/Turing v2", "Grace/Hopper v3"])
        let dead = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT version || payload FROM sluice_dead_rows").all { $0.text(0) }
        }
        #expect(dead == [#"1{"name":"Ada Lovelace"}"#])
        await broker.close()
    }

    @Test("G4, G10, G15: an old payload waits for its upgraders, says so, and runs when the last has come")
    func missing() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeThird(to: log)
        try await broker.enqueue(Greeting1(name: "Ada Lovelace"))
        try await broker.enqueue(Greeting3(given: "Grace", family: "Hopper"))
        try await running(broker) {
            await broker.waitUntilIdle()
            let before = try await broker.status(of: "greetings")
            #expect(before.state == .undecodable)
            #expect(before.attempt == 0)
            #expect(
                before.lastError == "no upgrader of 'greeting' from version 1, and this program's is 3"
            )
            try broker.upgrade(kind: "greeting", from: 1, splitting)
            let second = "no upgrader of 'greeting' from version 2, and this program's is 3"
            try await until { try await broker.status(of: "greetings").lastError == second }
            #expect(log.elements == [])
            try broker.upgradeSecond()
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["Ada/Lovelace v1 #1", "Grace/Hopper v3 #1"])
        await broker.close()
    }

    @Test("G10, G15: a version from the future is kept, says so, and runs after a start of newer code")
    func future() async throws {
        let site = try Site(clock: .farAhead())
        let older = try await site.broker()
        let log = EventLog<String>()
        try older.route("*", Greeting2.self) { _, _ in
            log.append("older")
            return .success
        }
        try await older.enqueue(Greeting3(given: "Grace", family: "Hopper"))
        try await running(older) {
            await older.waitUntilIdle()
            let status = try await older.status(of: "greetings")
            #expect(status.state == .undecodable)
            #expect(status.lastError == "version 3 of 'greeting' is newer than this program's 2")
        }
        await older.close()

        let newer = try await site.broker()
        try newer.routeThird(to: log)
        try await running(newer) { await newer.waitUntilIdle() }
        #expect(log.elements == ["Grace/Hopper v3 #1"])
        await newer.close()
    }

    @Test("G10: a version that decodes all the same is not decoded, and follows the failure policy")
    func policy() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.route("*", Greeting2.self, RouteOptions(failure: .all(.skip))) { _, _ in .success }
        let payload = #"{"first":"Ada","last":"Lovelace"}"#
        try await broker.enqueue(raw: [
            RawAction(queue: "q", kind: "greeting", version: 3, payload: payload),
            RawAction(queue: "q", kind: "greeting", version: 1, payload: payload),
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        let letters = try await broker.deadLetters()
        #expect(letters.map(\.cause) == [.undecodable, .undecodable])
        #expect(letters.map(\.attempts) == [0, 0])
        #expect(broker.statistics.succeeded == 0)
        await broker.close()
    }

    @Test("An edit of payload and version is an answer too")
    func edit() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeThird(to: log)
        try await broker.enqueue(Greeting1(name: "Ada Lovelace"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try site.shell(
                """
                UPDATE sluice_actions SET version = 3, payload = '{"given": "Ada", "family": "Byron"}'
                """
            )
            try await broker.fileEngine.store.readForeignChanges()
            _ = try await log.wait(forCount: 1)
        }
        #expect(log.elements == ["Ada/Byron v3 #1"])
        await broker.close()
    }

    @Test("Payloads of any kind are handed over as they are stored, with their version")
    func anyKind() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.upgrade(kind: "greeting", from: 1, splitting)
        try broker.routeAnyKind("*") { payload, attempt in
            log.append("\(attempt.version) \(payload)")
            return .success
        }
        try await broker.enqueue(raw: [
            RawAction(queue: "q", kind: "greeting", payload: "1"),
            RawAction(queue: "q", kind: "greeting", version: 9, payload: "2"),
        ])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["1 1", "9 2"])
    }
}

@Suite("Upgraders", .watched) struct UpgraderTests {
    @Test(
        "G13: what an upgrader throws is told by its type, and a payload that it cannot read without values"
    )
    func throwing() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        try broker.route("*", Greeting3.self) { _, _ in .success }
        try broker.upgrade(kind: "greeting", from: 1) { _ in throw TestError("canary") }
        try broker.upgradeSecond()
        try await broker.enqueue(raw: [
            RawAction(queue: "a", kind: "greeting", version: 1, payload: #""canary""#),
            RawAction(queue: "b", kind: "greeting", version: 2, payload: #"{"first":"canary","last":7}"#),
        ])
        try await running(broker) {
            await broker.waitUntilIdle()
            let errors = try await broker.statuses().map(\.lastError)
            #expect(
                errors == [
                    "upgrading from version 1: the upgrader of 'greeting' threw TestError",
                    "upgrading from version 2: the payload does not decode as 'greeting': "
                        + "at 'last' it is not a String",
                ]
            )
        }
        await broker.close()
    }

    @Test("G10: an upgrader that leads beyond the program's version does not run")
    func beyond() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        try broker.route("*", Greeting2.self) { _, _ in .success }
        try broker.upgrade(Greeting3.self, from: 1, reading: OldGreeting.self) {
            Greeting3(given: $0.first, family: $0.last)
        }
        try await broker.enqueue(Greeting1(name: "Ada"))
        try await running(broker) {
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "greetings")
            #expect(
                status.lastError
                    == "the upgrader of 'greeting' from version 1 leads to 3, beyond this program's 2"
            )
        }
        await broker.close()
    }

    @Test("G10: code that changes while a payload is being read is not missed")
    func duringAttempt() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let isFirst = Mutex(true)
        try broker.route("*", Greeting2.self) { greeting, attempt in
            log.append("\(greeting.first) #\(attempt.number)")
            return .success
        }
        try broker.upgrade(kind: "greeting", from: 1) { [weak broker] payload in
            let isFirst = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isFirst else { return try splitting(payload) }
            // As if a route had come, and had been looked for before this was parked.
            broker?.fileEngine.reader.codeChanged()
            throw TestError("too early")
        }
        try await broker.enqueue(Greeting1(name: "Ada Lovelace"))
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        #expect(log.elements == ["Ada #1"])
    }

    @Test("Versions and upgraders outside their limits are refused")
    func refusals() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.upgrade(kind: "greeting", from: 1) { $0 }
        #expect(await refusal { try broker.upgrade(kind: "greeting", from: 1) { $0 } } == .duplicateUpgrader)
        #expect(await refusal { try broker.upgrade(Greeting2.self, from: 1) { $0 } } == .duplicateUpgrader)
        #expect(await refusal { try broker.upgrade(kind: "greeting", from: 0) { $0 } } == .invalidVersion)
        #expect(await refusal { try broker.upgrade(kind: "greeting", from: .max) { $0 } } == .invalidVersion)
        #expect(await refusal { try broker.upgrade(kind: "", from: 1) { $0 } } == .invalidKind)
        let sideways = await refusal {
            try broker.upgrade(Greeting2.self, from: 2, reading: OldGreeting.self) {
                Greeting2(first: $0.first, last: $0.last)
            }
        }
        #expect(sideways == .invalidVersion)
        let zero = RawAction(queue: "q", kind: "k", version: 0, payload: "1")
        #expect(await refusal { try await broker.enqueue(raw: [zero]) } == .invalidVersion)
        try await #expect(broker.actionCount() == 0)
    }
}
