import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// What an application's view model looks like that counts events.
@MainActor
private final class Counter {
    private(set) var actions: [ActionID] = []
    private(set) var noticed: [ActionID] = []
    let (changed, noticing) = (EventLog<Void>(), EventLog<Void>())
    private var tokens: [ObservationToken] = []

    init(_ broker: Broker) {
        tokens.append(broker.observeOnMain { [weak self] event in self?.receive(event) })
        let handle = broker.queue("chat/1", of: Message.self)
        tokens.append(handle.observeOnMain { [weak self] notice in self?.receive(notice) })
    }

    func cancel() { for token in tokens { token.cancel() } }

    private func receive(_ event: ObservedEvent) {
        guard case .event(let event) = event, let action = event.action else { return }
        actions.append(action)
        changed.append(())
    }

    private func receive(_ notice: QueueNotice<Message>) {
        noticed += notice.actions.map(\.id)
        noticing.append(())
    }
}

@Suite("Observers on the main actor", .watched(minutes: 1)) @MainActor struct MainActorObserverTests {
    @Test("Events arrive on the main actor in their order, and none after the token is cancelled")
    func order() async throws {
        let broker = try await Broker.inMemory(BrokerOptions())
        let (counter, other) = (Counter(broker), Counter(broker))
        let ids = try await broker.enqueue((0..<300).map { Message("\($0)") })
        _ = try await counter.changed.wait(forCount: 300)
        #expect(counter.actions == ids)
        // One commit is one notice.
        _ = try await counter.noticing.wait(forCount: 1)
        #expect(counter.noticed == ids)
        counter.cancel()
        try await broker.enqueue(Message("later"))
        _ = try await other.changed.wait(forCount: 301)
        #expect(counter.actions == ids)
        await broker.close()
    }
}
