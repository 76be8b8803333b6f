import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What a broker does about actions that ran when a process died, as its user sees it.
@Suite("Trials after a crash", .watched) struct CrashTrialTests {
    private let site: Site

    init() throws { site = try Site() }

    /// A broker on a file in which an action of `slow/3` ran when a process died, and one of `q` waits.
    private func broker(_ started: EventLog<String>, _ goOn: Signal) async throws -> Broker {
        let broker = try await site.broker()
        try broker.route("*", Note.self) { note, _ in
            started.append(note.text)
            if note.text == "slow" { try await goOn.received() }
            return .success
        }
        let id = try await broker.enqueue(Note("slow", in: "slow/3")).id
        try await broker.enqueue(Note("other", in: "q"))
        try site.shell("INSERT INTO sluice_state_rows (action_id, is_suspect) VALUES (\(id), 1)")
        return broker
    }

    @Test(
        "G7, G9, G15: what ran starts alone, others say what they wait for, and start when the time is over"
    )
    func bound() async throws {
        let (started, goOn) = (EventLog<String>(), Signal())
        let broker = try await broker(started, goOn)
        try await running(broker) {
            _ = try await started.wait(forCount: 1)
            #expect(started.elements == ["slow"])
            try await until { try await broker.status(of: "q").because.first?.state == .ready }
            let because = try await broker.status(of: "q").because
            let tried = TriedAction(queue: "slow/3", action: ActionID(rawValue: 1), otherCount: 0)
            #expect(because == [.permit(.crashTrial(of: tried))])
            #expect(because.first?.description == "waits while action 1 of slow/3 runs alone after a crash")
            // It has not lost a process alone: a fifth of the time is its own.
            site.clock.advance(by: .seconds(1))
            _ = try await started.wait(forCount: 2)
            #expect(started.elements == ["slow", "other"])
            // It has survived, and a later death is not its own.
            let connection = try Connection(path: #require(site.file).path, mode: .write)
            try await until {
                try connection.prepare("SELECT is_suspect || ' ' || suspicion FROM sluice_state_rows")
                    .first { $0.text(0) } == "0 -1"
            }
            connection.close()
            goOn.send()
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    @Test("G9: without time for trials nothing waits")
    func noTime() async throws {
        let (started, goOn) = (EventLog<String>(), Signal())
        let first = try await broker(started, goOn)
        await first.close()
        let broker = try await site.broker { $0.crashTrialLimit = .zero }
        try broker.route("*", Note.self) { note, _ in
            started.append(note.text)
            if note.text == "slow" { try await goOn.received() }
            return .success
        }
        try await running(broker) {
            _ = try await started.wait(forCount: 2)
            #expect(Set(started.elements) == ["slow", "other"])
            let connection = try Connection(path: #require(site.file).path, mode: .write)
            let sizes = try connection.prepare("SELECT trial_size FROM sluice_claim_rows").all { $0.int(0) }
            connection.close()
            #expect(Set(sizes) == [0])
            goOn.send()
            await broker.waitUntilIdle()
        }
        await broker.close()
    }
}
