import Dispatch
import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What observers of a queue are told of others: brokers of other processes, and SQL.
@Suite("Cute: observers of what others do", .watched) struct CuteOthersTests {
    private let callbacks = DispatchQueue(label: "test.cute")

    private func brokers(
        _ site: Site,
        role: BrokerRole = .run
    ) async throws -> (mine: Broker, other: Broker) {
        let other = try await site.broker { $0.standFor(process: 2) }
        let mine = try await site.broker {
            $0.standFor(process: 1)
            $0.file.role = role
            $0.file.watchesWAL = false
            $0.file.foreignChangeInterval = .seconds(1)
        }
        return (mine, other)
    }

    @Test(
        "Cute: what another process adds, cancels and runs is told as a change, whether this broker runs",
        arguments: [true, false]
    )
    func otherBroker(isRunning: Bool) async throws {
        let site = try Site()
        let (mine, other) = try await brokers(site)
        let log = EventLog<String>()
        let token = mine.queue("jobs", of: Note.self).observe(on: callbacks) { log.append($0.line) }
        let theirs = other.queue("jobs", of: Note.self)
        try other.route("jobs", Note.self) { _, _ in .success }
        @Sendable func expectChange(behind change: @Sendable () async throws -> Void) async throws {
            let count = log.elements.count
            try await change()
            mine.fileEngine.lookForCommits()
            // Of a change there may be two looks, one of which has met its first commit alone.
            let told = try await log.wait(forCount: count + 1).dropFirst(count)
            #expect(Set(told) == ["changed"])
        }
        @Sendable func work() async throws {
            try await expectChange { try await theirs.add([Note("a"), Note("b")]) }
            try await expectChange { _ = try await theirs.take() }
            try await expectChange {
                try await running(other) { try await until { try await other.actionCount() == 0 } }
            }
        }
        if isRunning {
            try await running(mine) { try await work() }
        } else {
            try await work()
        }
        token.cancel()
        await mine.close()
        await other.close()
    }

    @Test("Cute: who may only read is told too", arguments: [BrokerRole.readOnly, .enqueueOnly])
    func roles(_ role: BrokerRole) async throws {
        let site = try Site()
        let (mine, other) = try await brokers(site, role: role)
        let log = EventLog<String>()
        let token = mine.queue("jobs", of: Note.self).observe(on: callbacks) { log.append($0.line) }
        try await site.clock.waitForSleeper(untilUptime: .seconds(1))
        try await other.queue("jobs", of: Note.self).add(Note("a"))
        site.clock.advance(by: .seconds(1))
        try await #expect(log.wait(forCount: 1) == ["changed"])
        token.cancel()
        await mine.close()
        await other.close()
    }

    @Test("Cute: what this broker does is told in full, and never as a change")
    func ownChanges() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.foreignChangeInterval = .seconds(1) }
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try jobs.route { _, _ in .success }
        try await jobs.add([Note("a"), Note("b")])
        let taken = try #require(try await jobs.removeNext())
        try await jobs.putBack(taken)
        // What is rolled back is read anew, which is no change by others.
        await #expect(throws: SluiceError.self) {
            try await broker.fileEngine.store.write(sync: .later) { _ in
                throw SluiceError(.invalidOptions, "refused")
            }
        }
        try await running(broker) {
            try await until { broker.statistics.succeeded == 2 }
            // A look of the broker's own.
            try await site.clock.waitForSleeper(untilUptime: .seconds(1))
            site.clock.advance(by: .seconds(1))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
        }
        let expected = ["added a b", "removed a", "added a", "processed a", "processed b"]
        _ = try await log.wait(forCount: expected.count)
        callbacks.sync {}
        #expect(log.elements == expected)
        token.cancel()
        await broker.close()
    }

    @Test("Cute: what the application settles in a transaction of its own is told as processed")
    func ownTransaction() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let token = jobs.observe(on: callbacks) { log.append($0.line) }
        try jobs.route { _, attempt in
            try application.transaction { connection in try attempt.succeed(in: connection) }
            return .success
        }
        try await jobs.add(Note("a"))
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        // The application's commit is another's, and may be told before or behind its end.
        try await until { log.elements.filter { $0 != "changed" } == ["added a", "processed ?1"] }
        token.cancel()
        await broker.close()
    }

    @Test("Cute: changes that an observer has not heard of yet are one")
    func changesInARow() {
        var buffer = NoticeBuffer(limit: 1)
        let change = NoticeDraft(kind: .changed, subjects: [], error: nil)
        let added = NoticeDraft(
            kind: .added,
            subjects: [.init(id: ActionID(rawValue: 1), action: nil)],
            error: nil
        )
        for draft in [added, change, change] { buffer.add(draft) }
        #expect(buffer.pop()?.kind == .added)
        #expect(buffer.pop()?.kind == .changed)
        #expect(buffer.pop() == nil)
    }
}
