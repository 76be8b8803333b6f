import Dispatch
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Handlers that block their threads", .watched)
struct HandlerWatchTests {
    private typealias Machine = HandlerWatchStateMachine

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    @Test("A probe that has not run for the threshold is told once, until one has run")
    func tells() {
        var machine = Machine(threshold: .seconds(5))
        #expect(machine.look(at: .seconds(5), time(5), isBusy: true) == .probe)
        #expect(machine.look(at: .seconds(9), time(9), isBusy: true) == .wait)
        #expect(machine.look(at: .seconds(10), time(10), isBusy: true) == .tell(since: time(5)))
        #expect(machine.blockedSince == time(5))
        #expect(machine.look(at: .seconds(15), time(15), isBusy: true) == .wait)
        let wasTold = machine.answered()
        #expect(wasTold && machine.blockedSince == nil)
        #expect(machine.look(at: .seconds(20), time(20), isBusy: true) == .probe)
        let isTold = machine.answered()
        #expect(!isTold)
        #expect(machine.look(at: .seconds(25), time(25), isBusy: false) == .end)
    }

    @Test("Where nothing runs any more a probe is waited for, and the watch ends behind it")
    func ends() {
        var machine = Machine(threshold: .seconds(5))
        #expect(machine.look(at: .seconds(5), time(5), isBusy: true) == .probe)
        #expect(machine.look(at: .seconds(6), time(6), isBusy: false) == .wait)
        _ = machine.answered()
        #expect(machine.look(at: .seconds(10), time(10), isBusy: false) == .end)
    }

    @Test("G15: a handler that blocks the one thread of its executor is noticed, and the cure named")
    func noticed() async throws {
        let lines = EventLog<String>()
        let site = try Site(.memory)
        let broker = try await site.broker {
            $0.clock = SystemClock()
            $0.blockedHandlerThreshold = .milliseconds(20)
            $0.handlerExecutor = DispatchExecutor(DispatchQueue(label: "test.handlers"))
            $0.logger = .keeping(lines)
        }
        let (started, goOn) = (Signal(), DispatchSemaphore(value: 0))
        try broker.route("*", Note.self) { _, _ in
            started.send()
            goOn.wait()
            return .success
        }
        try await broker.enqueue([Note("a", in: "1"), Note("b", in: "2")])
        try await running(broker) {
            try await started.received()
            let told = try await lines.wait { $0.contains { $0.hasPrefix("warning handlers block") } }
            #expect(told.contains { $0.contains("BrokerOptions.handlerExecutor") })
            for queue in ["1", "2"] as [QueueName] {
                let because = try await broker.status(of: queue).because
                #expect(because.contains { $0.isOfBlockedHandlers }, "\(because)")
            }
            for _ in 1...2 { goOn.signal() }
            _ = try await lines.wait { $0.contains { $0.hasPrefix("notice handlers run again") } }
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 2)
        #expect(lines.elements.count { $0.contains("handlers block") } == 1)
        await broker.close()
    }
}

extension WaitReason {
    fileprivate var isOfBlockedHandlers: Bool { if case .handlersBlocked = self { true } else { false } }
}
