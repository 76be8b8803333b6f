import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Composite sort keys", .watched) struct CompositeKeyTests {
    private static let values: [[SortKey]] = [
        [Int64.min, .min + 1, -10, -1, 0, 9, 10, .max].map { .integer($0) },
        [
            Int64.min, -62_167_219_200_000_001, -62_167_219_200_000_000, -1, 0, 1_767_225_600_000_000,
            253_402_300_799_999_999, 253_402_300_800_000_000, .max,
        ].map { .time(Timestamp(microseconds: $0)) },
        [-Double.infinity, -1e300, -1.5, -1e-300, 0, 1e-300, 1.5, .infinity].map { .real($0) },
        ["", "\0", "\t", "\n", "\u{0B}", " ", "a", "a\t", "a\nb", "a ", "aé", "\u{10FFFF}"].map { .text($0) },
    ]

    /// Compares part by part.
    private func compare(_ left: [SortKey], _ right: [SortKey]) -> PlaceKey.Comparison {
        for (left, right) in zip(left, right) {
            let result = PlaceKey.compare(PlaceKey(left), PlaceKey(right))
            if result != .equal { return result }
        }
        return .equal
    }

    @Test("G2: the texts of keys have the order of their parts, and are read as the same keys")
    func order() {
        for first in Self.values {
            for second in Self.values {
                let keys = first.flatMap { first in second.map { [first, $0] } }
                let texts = keys.map { PlaceKey(SortKey.composite($0[0], $0[1])) }
                for (key, text) in zip(keys, texts) {
                    let composite = SortKey.composite(key[0], key[1])
                    #expect(SortKey(text, composite.kind) == composite)
                    let isRight = zip(keys, texts).allSatisfy {
                        compare(key, $0) == PlaceKey.compare(text, $1)
                    }
                    #expect(isRight, "\(key)")
                }
            }
        }
    }

    @Test("A type has a name in the file, which is read as the same type; others are none")
    func kinds() {
        let kinds: [SortKey.Kind] = [
            .composite(.date, .integer), .composite(.text, .real, .date, .text),
            .composite(.real, .real, .real),
        ]
        #expect(kinds[0].rawValue == "composite:date,integer")
        for kind in kinds + SortKey.Kind.allSingle {
            #expect(SortKey.Kind(rawValue: kind.rawValue) == kind)
        }
        #expect(kinds[1].parts == [.text, .real, .date, .text])
        let bad = [
            "", "composite", "composite:", "composite:date", "composite:date,", "composite:date,arrival",
        ]
        for name in bad + ["composite:date,text,date,text,date", "composite:date,composite:date,text"] {
            #expect(SortKey.Kind(rawValue: name) == nil, "\(name)")
        }
    }

    @Test("A text that SQL has written, and that is no key of the type, is shown as it is")
    func foreign() {
        let kind = SortKey.Kind.composite(.integer, .text)
        let bad = ["", "1\ta", "0000000000000000001", "0000000000000000001\ta\tb", "000000000000000000a\ta"]
        for text in bad + ["9999999999999999999\ta", "0000000000000000001\t\n", "0000000000000000001\t\né"] {
            #expect(SortKey(.text(text), kind) == .text(text), "\(text)")
        }
    }

    private static func key(_ day: Double, _ page: Int64) -> SortKey {
        .composite(.date(Date(timeIntervalSince1970: day * 86_400)), .integer(page))
    }

    @Test("G2: they order a queue, in the file and over a restart", arguments: TestBroker.Storage.allCases)
    func queue(_ storage: TestBroker.Storage) async throws {
        let log = EventLog<String>()
        let test = try await TestBroker(storage) { try $0.routeNotes(to: log) }
        let pages: [(Double, Int64)] = [(2, 1), (1, 10), (1, 9), (-1, 0), (1, -9), (2, -1)]
        try await test.broker.hold("notes", by: "test")
        for (day, page) in pages {
            try await test.broker.enqueue(Note("\(day) \(page)", order: Self.key(day, page)))
        }
        try await test.restart()
        try await test.broker.endHolds(matching: "notes", by: "test")
        try await test.drain()
        #expect(log.elements == ["-1.0 0", "1.0 -9", "1.0 9", "1.0 10", "2.0 -1", "2.0 1"])
        #expect(test.violations.isEmpty)
        try await test.close()
    }

    @Test("G2: another type is refused, whoever has set it, and a number that is none")
    func refusals() async throws {
        let broker = try await Site(.memory).broker()
        try broker.configure("fixed", QueueOptions(sortKey: .composite(.date, .integer)))
        try await broker.enqueue(Note("a", order: Self.key(1, 1)))
        let date = SortKey.date(.now)
        let others: [SortKey] = [
            .arrival, date, .text("a"), .composite(.integer(1), date),
            .composite(date, .integer(1), .text("")),
        ]
        for queue in ["notes", "fixed"] as [QueueName] {
            for key in others {
                let code = await refusal { try await broker.enqueue(Note("b", in: queue, order: key)) }
                #expect(code == .sortKeyMismatch, "\(key)")
            }
        }
        let none = SortKey.composite(date, .real(.nan))
        #expect(await refusal { try await broker.enqueue(Note("b", order: none)) } == .sortKeyNotANumber)
        try await broker.enqueue(Note("a", in: "fixed", order: Self.key(1, 1)))
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("What is put back or moved to the front gets a smaller key of the same type")
    func fronts() async throws {
        let broker = try await Site(.memory).broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let keys = [Self.key(1, 5), Self.key(1, 5), .composite(.date(.distantPast), .integer(.min))]
        let ids = try await jobs.add(keys.prefix(2).enumerated().map { Note("\($0)", order: $1) })
        try await #expect(broker.moveToFront(ids[1]) == .done)
        try await #expect(jobs.peek()?.sortKey == Self.key(1, 4))
        try await #expect(jobs.texts() == ["1", "0"])
        // The second part cannot be smaller, so the first one is.
        try await jobs.add(Note("first", order: keys[2]))
        let newest = try await jobs.add(Note("newest", order: Self.key(1, 9))).id
        try await #expect(broker.moveToFront(newest) == .done)
        let front = try #require(try await jobs.peek()?.sortKey)
        #expect(front.kind == .composite(.date, .integer))
        #expect(PlaceKey.compare(PlaceKey(front), PlaceKey(keys[2])) == .less)
        try await #expect(jobs.texts() == ["newest", "first", "1", "0"])
        await broker.close()
    }

    @Test("SQL sees a text, may edit the rest, and may insert a text")
    func sql() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try await broker.enqueue(Note("a", order: Self.key(0, 7)))
        let text = "1970-01-01T00:00:00.000000Z\t0000000000000000007"
        #expect(try application.row("SELECT sort_key FROM sluice_actions") == text)
        try await #expect(broker.actionSummaries().map(\.sortKey) == [text])
        try application.execute("UPDATE sluice_actions SET tag = 't'")
        let insert =
            "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES ('notes', 'note', '{}', "
        for bad in ["NULL", "7"] {
            #expect(throws: (any Error).self, "\(bad)") { try application.execute(insert + bad + ")") }
        }
        try application.execute(
            insert + "'1970-01-01T00:00:00.000000Z' || char(9) || '0000000000000000006')"
        )
        try application.execute("UPDATE sluice_actions SET queue = 'other' WHERE tag = 't'")
        let states = try await broker.actions(tag: "t")
        #expect(states.map(\.details?.sortKey) == [Self.key(0, 7)])
        try await #expect(broker.action(ActionID(rawValue: 2)).details?.sortKey == Self.key(0, 6))
        await broker.close()
    }

    @Test("They go from file to file, and are Codable")
    func transfer() async throws {
        let (site, other) = (try Site(), try Site())
        let (from, to) = (try await site.broker(), try await other.broker())
        let keys = [SortKey.composite(.text("a\tb\n"), .real(-0.5)), .composite(.text(""), .real(.infinity))]
        try await from.enqueue(keys.enumerated().map { Note("\($0)", order: $1) })
        let page = try await from.fileEngine.store.page(
            of: QueuePattern.all.form(),
            after: ActionID(rawValue: 0),
            limit: 9,
            byteLimit: 9_999
        )
        #expect(page.map(\.sortKey) == keys)
        _ = try await to.take(page)
        try await #expect(to.queue("notes", of: Note.self).texts() == ["1", "0"])
        let dated = [Self.key(1, 2), keys[0]]
        let data = try JSONEncoder().encode(dated)
        #expect(try JSONDecoder().decode([SortKey].self, from: data) == dated)
        for text in [#"{"composite":[{"integer":7}]}"#, #"{"composite":[{},{"integer":7}]}"#] {
            #expect(throws: DecodingError.self) {
                try JSONDecoder().decode(SortKey.self, from: Data(text.utf8))
            }
        }
        await from.close()
        await to.close()
    }
}
