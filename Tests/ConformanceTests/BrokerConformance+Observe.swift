import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// States as they change.
extension BrokerConformance {
    func observedActions(_ broker: Broker) async throws {
        let log = try log(broker)
        let ids = try await broker.enqueue([Note("a"), Note("b")], EnqueueOptions(tag: "t"))
        var updates = broker.observe(actions: .tag("t")).makeAsyncIterator()
        let first = try #require(try await updates.next())
        #expect(first.isSnapshot && first.states.map(\.id) == ids && first.gone.isEmpty)
        try await broker.setTag("u", of: ids[0])
        try await broker.enqueue(Note("c"))
        let second = try #require(try await updates.next())
        #expect(!second.isSnapshot && second.states.isEmpty)
        #expect(second.gone.map(\.id) == [ids[0]] && second.gone.map(\.phase) == [.waiting])
        try await drain(broker)
        #expect(log.elements == ["a", "b", "c"])
        // From the first element on, as if the second had not been seen.
        var others = broker.observe(actions: .tag("t"), after: first.position).makeAsyncIterator()
        let third = try #require(try await others.next())
        #expect(!third.isSnapshot && third.states.isEmpty && third.gone.map(\.id) == ids)
        var last: ActionState.Phase?
        while last != .ended(.succeeded), let update = try await updates.next() {
            last = update.gone.first?.phase
        }
        #expect(last == .ended(.succeeded))
    }

    func observedStatuses(_ broker: Broker) async throws {
        try await broker.enqueue([Note("a", in: "x/1"), Note("b", in: "x/2"), Note("c", in: "y")])
        var updates = broker.observe(statuses: "x/*").makeAsyncIterator()
        let first = try #require(try await updates.next())
        #expect(first.isSnapshot && first.states.map(\.queue) == ["x/1", "x/2"])
        try await broker.cancel(queues: "x/1")
        try await broker.enqueue(Note("d", in: "x/2"))
        let second = try #require(try await updates.next())
        #expect(!second.isSnapshot && second.states.map(\.depth) == [2])
        #expect(second.gone.map(\.queue) == ["x/1"])
        var others = broker.observe(statuses: "x/*", after: first.position).makeAsyncIterator()
        let third = try #require(try await others.next())
        #expect(third.states.map(\.queue) == ["x/2"] && third.gone.map(\.queue) == ["x/1"])
    }
}
