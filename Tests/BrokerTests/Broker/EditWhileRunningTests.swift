import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Edits of an action that runs", .watched)
struct EditWhileRunningTests {
    @Test(
        "An edit while the action runs is refused, if asked for, and else told if the attempt succeeds"
    )
    func whileRunning() async throws {
        let lines = EventLog<String>()
        let site = try Site(.file)
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .notice) }
        let (started, goOn, log) = (Signal(), Signal(), EventLog<String>())
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { note, attempt in
            log.append(note.text)
            started.send()
            try await goOn.received(log.elements.count)
            return attempt.number == 1 ? .retry : .success
        }
        let events = broker.events()
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) {
            try await started.received()
            try await #expect(broker.edit(id, to: Note("no"), ifRunning: .refuse) == .running)
            try await #expect(broker.edit(id, payload: #"{"text":"no"}"#, ifRunning: .refuse) == .running)
            try await #expect(broker.edit(id, to: Note("b"), ifRunning: .forNextAttempt) == .deferred)
            goOn.send()
            try await started.received(2)
            // The attempt that runs has seen it; what comes now it has not.
            try site.shell(#"UPDATE sluice_actions SET payload = '{"text":"c"}' WHERE id = \#(id)"#)
            try await broker.fileEngine.store.readForeignChanges()
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        await broker.close()
        var kinds: [QueueEvent.Kind] = []
        for await case .event(let event) in events where event.action == id { kinds.append(event.kind) }
        #expect(kinds.suffix(2) == [.editLost, .succeeded])
        #expect(kinds.count { $0 == .editLost } == 1)
        #expect(lines.elements.count { $0.contains("had not seen an edit") } == 1, "\(lines.elements)")
    }
}
