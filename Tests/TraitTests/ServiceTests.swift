#if ServiceLifecycle
import Logging
import ServiceLifecycle
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("As a service", .watched) struct ServiceTests {
    @Test("G7: a graceful shutdown of the group lets handlers finish, and the group ends without an error")
    func gracefulShutdown() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.stopGrace = .seconds(30) }
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received()
            return Task.isCancelled ? .fail("cancelled") : .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        let group = ServiceGroup(
            services: [broker],
            logger: Logger(
                label: "test",
                factory: { _ in
                    SwiftLogNoOpLogHandler()
                }
            )
        )
        async let run: Void = group.run()
        _ = try await log.wait(forCount: 1)
        await group.triggerGracefulShutdown()
        try await site.clock.waitForSleeper(untilUptime: .seconds(30))
        go.send()
        try await until { broker.statistics.succeeded == 1 }
        // A service that ends by itself, on shutdown, is no failure of the group's.
        try await run
        #expect(log.elements == ["a"])
        try await #expect(broker.actionCount() == 1)
    }

    @Test("G7: what outlasts the grace period of a shutdown is cancelled and released")
    func graceOver() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.stopGrace = .seconds(30) }
        let log = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            log.append(attempt.number)
            if log.elements.count == 1 { try await untilCancelled() }
            return .success
        }
        try await broker.enqueue(Note("a"))
        let group = ServiceGroup(
            services: [broker],
            logger: Logger(
                label: "test",
                factory: { _ in
                    SwiftLogNoOpLogHandler()
                }
            )
        )
        async let run: Void = group.run()
        _ = try await log.wait(forCount: 1)
        await group.triggerGracefulShutdown()
        try await site.clock.waitForSleeper(untilUptime: .seconds(30))
        site.clock.advance(by: .seconds(30))
        try await run
        #expect(broker.statistics.released == 1)
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == [1, 1])
    }
}
#endif
