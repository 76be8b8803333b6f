import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Payloads that nobody could read back", .watched) struct PayloadDepthTests {
    private struct Price: Action {
        static let kind = "price"
        var amount: Decimal
        var queue: QueueName { "q" }
    }

    @Test("A Decimal that is no number is refused when it is enqueued, and nothing is stored")
    func noNumber() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try await broker.enqueue(Price(amount: 1))
        do {
            try await broker.enqueue(Price(amount: .nan))
            Issue.record("it was stored")
        } catch let error as SluiceError {
            #expect(error.code == .payloadNotEncodable)
            #expect(error.message.contains("NaN"))
        }
        #expect(try await broker.status(of: "q").depth == 1)
        await broker.close()
    }

    @Test("G10: a payload in the file that is no JSON is undecodable, and does not end the process")
    func brackets() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.routeNotes(to: EventLog())
        let id = try await broker.enqueue(Note("a")).id
        try site.shell(
            "UPDATE sluice_action_rows SET payload = '\(String(repeating: "[", count: 513))'"
        )
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .undecodable }
        }
        let state = try await broker.action(id)
        #expect(throws: SluiceError.self) { try state.payload(as: Note.self) }
        await broker.close()
    }

    @Test("Payloads are nested 512 deep at most, by every way in; a byte order mark is named")
    func depth() async throws {
        let site = try Site()
        let broker = try await site.broker()
        func nested(_ depth: Int) -> String {
            String(repeating: "[{\"a\":", count: depth / 2) + (depth % 2 == 1 ? "[]" : "1")
                + String(repeating: "}]", count: depth / 2)
        }
        func raw(_ payload: String) -> [RawAction] { [RawAction(queue: "q", kind: "k", payload: payload)] }
        func insert(_ payload: String) throws {
            try site.shell(
                "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'k', '\(payload)')"
            )
        }
        try await broker.enqueue(raw: raw(nested(512)))
        try insert(nested(512))
        // As many brackets that are not inside each other are no depth.
        let wide = "[" + Array(repeating: "[]", count: 600).joined(separator: ",") + "]"
        try insert(wide)
        try site.shell("UPDATE sluice_actions SET payload = '\(nested(512))' WHERE payload = '\(wide)'")
        for attempt in [
            { () async throws in _ = try await broker.enqueue(raw: raw(nested(513))) },
            { () async throws in try insert(nested(513)) },
            { () async throws in try site.shell("UPDATE sluice_actions SET payload = '\(nested(900))'") },
        ] {
            do {
                try await attempt()
                Issue.record("it was stored")
            } catch {
                #expect("\(error)".contains("nested deeper than 512"), "\(error)")
            }
        }
        do {
            try await broker.enqueue(raw: raw("\u{FEFF}1"))
            Issue.record("it was stored")
        } catch {
            #expect("\(error)".contains("byte order mark"))
        }
        #expect(try await broker.status(of: "q").depth == 3)
        await broker.close()
    }
}
