import Sluice
import SluiceObservation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

private final class Server: Sendable {
    let isUp = Mutex(true)
}

@Suite("Gates that follow a probe", .watched(minutes: 1)) struct KeepGateTests {
    /// A broker on a clock of the test's, on which nothing else sleeps.
    private static func broker(_ clock: ManualClock) async throws -> Broker {
        var options = BrokerOptions()
        options.clock = clock
        return try await Broker.inMemory(options)
    }

    @Test("The gate opens and closes with the answers, at once and after each interval, and then stays")
    func follows() async throws {
        let clock = ManualClock()
        let broker = try await Self.broker(clock)
        let probes = EventLog<Duration>()
        let server = Server()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await broker.keepGate("network", every: .seconds(30)) {
                    probes.append(clock.uptime)
                    return server.isUp.withLock { $0 }
                }
            }
            try await clock.waitForSleeper(untilUptime: .seconds(30))
            try await #expect(broker.gates().map(\.isOpen) == [true])
            // Whoever else closes it: the next answer counts.
            try await broker.closeGate("network")
            clock.advance(by: .seconds(30))
            try await clock.waitForSleeper(untilUptime: .seconds(60))
            try await #expect(broker.gates().map(\.isOpen) == [true])
            server.isUp.withLock { $0 = false }
            clock.advance(by: .seconds(30))
            try await clock.waitForSleeper(untilUptime: .seconds(90))
            try await #expect(broker.gates().map(\.isOpen) == [false])
            server.isUp.withLock { $0 = true }
            clock.advance(by: .seconds(30))
            try await clock.waitForSleeper(untilUptime: .seconds(120))
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(probes.elements == [.zero, .seconds(30), .seconds(60), .seconds(90)])
        try await #expect(broker.gates().map(\.isOpen) == [true])
        await broker.close()
    }

    @Test("While the file is locked, the probe is asked again each second, whatever its interval")
    func locked() async throws {
        let file = try TemporaryFile()
        let clock = ManualClock()
        var options = BrokerOptions()
        options.clock = clock
        options.file.lockTimeout = .milliseconds(1)
        let broker = try await Broker(file: file.path, options: options)
        let other = try Connection(path: file.path, mode: .write)
        try other.beginImmediate()
        let (probes, unlocked) = (EventLog<Duration>(), EventLog<Void>())
        let keeping = Task {
            try await broker.keepGate("network", every: .seconds(1_000)) {
                probes.append(clock.uptime)
                // The second answer comes when the file is not locked any more.
                if probes.elements.count > 1 { _ = try? await unlocked.wait(forCount: 1) }
                return true
            }
        }
        _ = try await probes.wait(forCount: 1)
        let advancing = Task {
            while true {
                try await clock.waitForSleeper(untilUptime: clock.uptime + .seconds(1))
                clock.advance(by: .seconds(1))
            }
        }
        _ = try await probes.wait(forCount: 2)
        advancing.cancel()
        try await #expect(broker.gates().isEmpty)
        other.rollback()
        unlocked.append(())
        while try await broker.gates().isEmpty { await Task.yield() }
        try await #expect(broker.gates().map(\.isOpen) == [true])
        keeping.cancel()
        try await keeping.value
        #expect(probes.elements.count == 2 && probes.elements[1] < .seconds(1_000))
        await broker.close()
    }

    @Test("An answer that comes after the cancellation changes nothing")
    func cancelled() async throws {
        let broker = try await Self.broker(ManualClock())
        let (asked, answer) = (EventLog<Void>(), EventLog<Void>())
        let keeping = Task {
            try await broker.keepGate("network", every: .seconds(30)) {
                asked.append(())
                _ = await Task.detached { try await answer.wait(forCount: 1) }.result
                return true
            }
        }
        _ = try await asked.wait(forCount: 1)
        keeping.cancel()
        answer.append(())
        try await keeping.value
        try await #expect(broker.gates().isEmpty)
        await broker.close()
    }

    @Test("The end of the broker is a normal return; an interval of zero and an invalid name are refused")
    func ends() async throws {
        let clock = ManualClock()
        let broker = try await Self.broker(clock)
        for (name, interval) in [("network", Duration.zero), ("", .seconds(1))] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.keepGate(GateName(name), every: interval) { true }
            }
            let expected: SluiceError.Code = name.isEmpty ? .invalidGate : .invalidOptions
            #expect(error?.code == expected)
        }
        await broker.close()
        try await broker.keepGate("network", every: .seconds(30)) { true }
    }
}
