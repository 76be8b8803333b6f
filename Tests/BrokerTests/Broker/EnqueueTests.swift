import Dispatch
import Foundation
import Sluice
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Enqueuing by a broker", .watched) struct BrokerEnqueueTests {
    @Test(
        "It works before, while and after the broker runs, and inside handlers",
        arguments: QueueStorage.allCases
    )
    func always(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "before" { try await broker.enqueue(Note("inside", in: note.queue)) }
            return .success
        }
        try await broker.enqueue(Note("before"))
        try await running(broker) {
            _ = try await log.wait(forCount: 2)
            try await broker.enqueue(Note("while"))
            _ = try await log.wait(forCount: 3)
        }
        try await broker.enqueue(Note("after"))
        #expect(log.elements == ["before", "inside", "while"])
        try await running(broker) { _ = try await log.wait(forCount: 4) }
        #expect(log.elements.last == "after")
        await broker.close()
        let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("closed")) }
        #expect(error?.code == .closed)
        let blocking = #expect(throws: SluiceError.self) { try broker.enqueueBlocking(Note("closed")) }
        #expect(blocking?.code == .closed)
    }

    @Test("Of many, all are stored or none, whichever is at fault", arguments: QueueStorage.allCases)
    func allOrNothing(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.maximumPayloadByteCount = 200 }
        try broker.configure("small", QueueOptions(maximumDepth: 3))
        let good = (0..<3).map { Note("\($0)", in: "small") } + [Note("3", in: "mixed")]
        let bad: [(Note, SluiceError.Code)] = [
            (Note("x", in: "small"), .queueFull),
            (Note("x", in: "mixed", order: .integer(1)), .sortKeyMismatch),
            (Note("x", in: "other", order: .real(.nan)), .sortKeyNotANumber),
            (Note(String(repeating: "x", count: 300), in: "other"), .payloadTooLarge),
            (Note("x", in: ""), .invalidQueueName),
            (Note("x", in: QueueName(String(repeating: "x", count: 513))), .invalidQueueName),
            (Note("x", in: "a\u{0}b"), .invalidQueueName),
        ]
        for (note, code) in bad {
            let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(good + [note]) }
            #expect(error?.code == code)
            try await #expect(broker.actionCount() == 0)
        }
        let ids = try await broker.enqueue(good)
        #expect(ids == ids.sorted() && Set(ids).count == 4)
        try await #expect(broker.enqueue([Note]()) == [])
        await broker.close()
    }

    @Test(
        "Raw actions are checked as typed ones are",
        arguments: [
            ("", "{}", SluiceError.Code.invalidKind),
            (String(repeating: "k", count: 256), "{}", .invalidKind), ("a\0b", "{}", .invalidKind),
            ("k", "", .payloadNotJSON), ("k", "{", .payloadNotJSON), ("k", "{} {}", .payloadNotJSON),
            ("k", "nonsense", .payloadNotJSON),
        ]
    )
    func raw(_ kind: String, _ payload: String, _ code: SluiceError.Code) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let actions = [
            RawAction(queue: "q", kind: "k", payload: #"{"a":[1,null,"é"]}"#),
            RawAction(queue: "q", kind: kind, payload: payload),
        ]
        let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(raw: actions) }
        #expect(error?.code == code)
        try await #expect(broker.actionCount() == 0)
        try await broker.enqueue(raw: actions.prefix(1))
        try await #expect(broker.actionSummaries().map(\.payload) == [#"{"a":[1,null,"é"]}"#])
    }

    @Test("A raw payload is taken if SQLite takes it as JSON, and refused if not")
    func grammar() async throws {
        let good = [
            "null", "true", "false", " \t\r\n1 \n", "-0", "0.5e-10", "1E+9", "1e999", "[]", "{}", "[[], {}]",
            #"{"":{"a":[1,2 , 3]}}"#, #""\"\\\/\b\f\n\r\t\u00e9\ud800 é\#u{7f}""#,
            String(repeating: "[", count: 500) + String(repeating: "]", count: 500),
        ]
        let bad = [
            "", " ", "\u{FEFF}{}", "1\0", "\"\0a\0\"\0", "{}\0", "[1,]", #"{"a":1,}"#, "01", "-", "1.", ".5",
            "1e", "+1", "NaN", "\"a\tb\"", "\"a\nb\"", #""\x""#, #""\u12g4""#, #""\u12"#, "\"", "\"\\",
            "'a'", "{a:1}", #"{"a"}"#, #"{"a":}"#, #"{1:2}"#, "[1 2]", "[", "{", "]", "[}", "tru", "nulll",
            "1 2", "// x\n1", "\u{a0}1", String(repeating: "[", count: 3_000),
        ]
        let site = try Site()
        let broker = try await site.broker()
        let connection = try Connection(path: #require(site.file).path, mode: .read)
        for (payloads, code) in [(good, nil), (bad, SluiceError.Code.payloadNotJSON)] {
            for payload in payloads {
                let action = RawAction(queue: "q", kind: "k", payload: payload)
                #expect(await refusal { try await broker.enqueue(raw: [action]) } == code, "\(payload)")
                guard !payload.utf8.contains(0) else { continue }
                let isValid = try connection.prepare("SELECT json_valid(?)").bind(1, payload)
                    .first { $0.bool(0) }
                #expect(isValid == (code == nil), "\(payload)")
            }
        }
        try await #expect(broker.actionSummaries().map(\.payload) == good)
        await broker.close()
    }

    @Test(
        "The blocking form keeps the order of the calls, beside other callers",
        arguments: QueueStorage.allCases
    )
    func blocking(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let threads = DispatchQueue(label: "callers", attributes: .concurrent)
        let failures = Mutex(0)
        try await running(broker) {
            for caller in 0..<3 {
                threads.async {
                    for number in 0..<50 {
                        do { try broker.enqueueBlocking(Note("\(caller) \(number)")) } catch {
                            failures.withLock { $0 += 1 }
                        }
                    }
                }
            }
            _ = try await log.wait(forCount: 150)
        }
        #expect(failures.withLock { $0 } == 0)
        for caller in 0..<3 {
            let own = log.elements.filter { $0.hasPrefix("\(caller) ") }
            #expect(own == (0..<50).map { "\(caller) \($0)" })
        }
        await broker.close()
    }

    @Test("G2: each type of sort key orders its queue, arrivals among equals in their order")
    func sortKeys() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let date = Date(timeIntervalSince1970: 1_000)
        let keys: [(QueueName, [SortKey])] = [
            ("integer", [.integer(.min), .integer(-1), .integer(0), .integer(0), .integer(.max)]),
            ("real", [.real(-.infinity), .real(-0.5), .real(0), .real(0.1), .real(.infinity)]),
            (
                "date",
                [
                    .date(.distantPast), .date(date), .date(date + 0.000_001), .date(date + 1),
                    .date(.distantFuture),
                ]
            ),
            // Bytes, not collation: Z before a, and the composed é behind every ASCII letter.
            ("text", [.text(""), .text("Z"), .text("a"), .text("e\u{301}"), .text("\u{E9}")]),
            ("arrival", [.arrival, .arrival, .arrival, .arrival, .arrival]),
        ]
        for (queue, keys) in keys {
            let notes = keys.enumerated().map { Note("\(queue) \($0)", in: queue, order: $1) }
            // Equals must keep their order, so only those that differ change places.
            try await broker.enqueue(
                queue == "arrival" ? notes : [notes[4], notes[2], notes[3], notes[0], notes[1]]
            )
        }
        try await running(broker) { await broker.waitUntilIdle() }
        for (queue, keys) in keys {
            let own = log.elements.filter { $0.hasPrefix("\(queue) ") }
            #expect(own == keys.indices.map { "\(queue) \($0)" })
        }
    }

    @Test(
        "G2: a queue takes the type of its first action, refuses others, and is free again when it is empty"
    )
    func sortType() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a", order: .integer(1)))
        for key in [SortKey.arrival, .real(1), .text("1"), .date(.now)] {
            let error = await #expect(throws: SluiceError.self) {
                try await broker.enqueue(Note("b", order: key))
            }
            #expect(error?.code == .sortKeyMismatch)
            #expect(error?.message.contains("'notes'") == true)
        }
        try await running(broker) { await broker.waitUntilIdle() }
        try await broker.enqueue(Note("c", order: .text("1")))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a", "c"])
    }

    @Test("A full queue takes more when there is room again, and never waits")
    func full() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.configure("*", QueueOptions(maximumDepth: 2))
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received(log.elements.count)
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            // The one that runs counts.
            let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("c")) }
            #expect(error?.code == .queueFull)
            #expect(throws: SluiceError.self) { try broker.enqueueBlocking(Note("c")) }
            go.send()
            _ = try await log.wait(forCount: 2)
            try await broker.enqueue(Note("d"))
            go.send()
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b", "d"])
    }

    @Test("G14: an enqueue whose task is cancelled before it begins is not stored")
    func cancelled() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let task = Task {
            try? await untilCancelled()
            return try await broker.enqueue(Note("a")).id
        }
        task.cancel()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
        try await #expect(broker.actionCount() == 0)
    }

    @Test("G2: an action that is scheduled takes its place when it is due, and blocks nothing before")
    func scheduled() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let due = Date(timeIntervalSince1970: Double(site.clock.wallMicroseconds) / 1_000_000 + 30)
        try await broker.enqueue(Note("scheduled", order: .integer(1)), notBefore: due)
        try await running(broker) {
            try await broker.enqueue(Note("now", order: .integer(2)))
            _ = try await log.wait(forCount: 1)
            #expect(log.elements == ["now"])
            try await site.clock.waitForSleeper(untilUptime: .seconds(30))
            site.clock.advance(by: .seconds(30))
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["now", "scheduled"])
    }

    @Test("G11: of many actions scheduled from several tasks while the broker runs, each one starts")
    func scheduledConcurrently() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let due = Date(timeIntervalSince1970: Double(site.clock.wallMicroseconds) / 1_000_000)
        try await running(broker) {
            for round in 1...300 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<3 {
                        group.addTask { try await broker.enqueue(Note("n", in: "\(number)"), notBefore: due) }
                    }
                    try await group.waitForAll()
                }
                // Without any passing of time: each must be found by the look that its own enqueuing causes.
                _ = try await log.wait(forCount: 3 * round)
            }
        }
        #expect(log.elements.count == 900)
    }
}
