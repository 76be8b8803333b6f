import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What goes in together", .watched(minutes: 1))
struct StoreEnqueueTests {
    /// More than go into one statement, and not a multiple of that.
    private static let count = 27

    @Test("G2: a call's actions are stored in its order, however many there are and in whatever queues")
    func order() async throws {
        let fixture = try await StoreFixture()
        let texts = (0..<Self.count).map { "\($0)" }
        let ids = try await fixture.store.add(
            texts.enumerated().map { ActionDraft($1, in: $0.isMultiple(of: 3) ? "a" : "b") }
        )
        #expect(ids.map(\.rawValue) == (1...Int64(Self.count)).map { $0 })
        #expect(
            try fixture.rows("SELECT payload || ' in ' || queue FROM sluice_actions ORDER BY id")
                == texts.enumerated().map { "\"\($1)\" in \($0.isMultiple(of: 3) ? "a" : "b")" }
        )
    }

    @Test("What few actions have is stored with them, wherever they stand among plain ones")
    func extras() async throws {
        let fixture = try await StoreFixture()
        let drafts = (0..<Self.count).map { number in
            ActionDraft(
                queue: "q",
                kind: "k",
                sortKey: .arrival,
                payload: "\(number)",
                extras: [3, 12].contains(number) ? DraftExtras(tag: "tag \(number)") : nil
            )
        }
        try await fixture.store.add(drafts)
        #expect(
            try fixture.rows("SELECT payload FROM sluice_actions ORDER BY id")
                == (0..<Self.count).map { "\($0)" }
        )
        #expect(
            try fixture.rows("SELECT payload || tag FROM sluice_action_rows WHERE tag > '' ORDER BY id")
                == ["3tag 3", "12tag 12"]
        )
    }

    @Test("G2: a call that gives a queue keys of two types is refused, and nothing of it is stored")
    func twoTypes() async throws {
        let fixture = try await StoreFixture()
        for odd in [1, 4, 7, 8, Self.count - 1] {
            let drafts = (0..<Self.count).map {
                ActionDraft("\($0)", in: "q\(odd)", by: $0 == odd ? .integer(1) : .arrival)
            }
            #expect(await refusal { try await fixture.store.add(drafts) } == .sortKeyMismatch)
        }
        #expect(try fixture.row("SELECT count(*) FROM sluice_actions") == "0")
    }
}
