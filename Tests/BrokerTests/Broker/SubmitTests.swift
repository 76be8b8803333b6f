import Logging
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Submitting", .watched) struct SubmitTests {
    private func texts(_ broker: Broker) async throws -> [String] {
        try await broker.queue("notes", of: Note.self).texts()
    }

    @Test(
        "Submissions and blocking enqueues are stored in the order of the calls",
        arguments: QueueStorage.allCases
    )
    func order(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        for number in 0..<200 {
            if number % 7 == 6 {
                try broker.enqueueBlocking(Note("\(number)"))
            } else {
                broker.submit(Note("\(number)"))
            }
        }
        try await broker.file?.flush()
        try await #expect(texts(broker) == (0..<200).map { "\($0)" })
        await broker.close()
    }

    @Test("A call returns while another connection has the write lock, and the action is stored after that")
    func locked() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let other = try Connection(path: #require(site.file).path, mode: .write)
        try other.beginImmediate()
        for text in ["a", "b", "c"] { broker.submit(Note(text)) }
        try await #expect(broker.actionCount() == 0)
        other.rollback()
        try await broker.file?.flush()
        try await #expect(texts(broker) == ["a", "b", "c"])
        await broker.close()
    }

    @Test("Everything that was submitted before a close is stored, also if the broker is suspended")
    func closing() async throws {
        let site = try Site()
        for isSuspended in [false, true] {
            let broker = try await site.broker()
            if isSuspended { await broker.file?.suspend() }
            for number in 0..<300 { broker.submit(Note("\(number)")) }
            await broker.close()
        }
        let broker = try await site.broker()
        try await #expect(broker.actionCount() == 600)
        await broker.close()
    }

    @Test("A submitted action runs, and expires at its time")
    func runs() async throws {
        let test = try await TestBroker { try $0.configure("old", QueueOptions(expiresAfter: .seconds(9))) }
        let log = EventLog<String>()
        try test.broker.routeNotes(to: log)
        try await test.start()
        test.broker.submit(Note("a"))
        test.broker.submit(Note("b", in: "old"), EnqueueOptions(gate: "shut"))
        try await test.broker.file?.flush()
        try await test.drain(for: .seconds(10))
        #expect(log.elements == ["a"])
        try await #expect(test.broker.deadLetters().map(\.cause) == [.expired])
        try await test.close()
    }

    @Test("G14: each action that is not stored is reported, with its error")
    func errors() async throws {
        let broker = try await Site(.memory).broker { $0.maximumPayloadByteCount = 100 }
        try broker.configure("small", QueueOptions(maximumDepth: 1))
        let codes = EventLog<SluiceError.Code>()
        let refused = [
            Note("a", in: "nan", order: .real(.nan)), Note(String(repeating: "x", count: 200)),
            Note("b", in: ""),
        ]
        for note in refused { broker.submit(note) { codes.append($0.code) } }
        #expect(codes.elements == [.sortKeyNotANumber, .payloadTooLarge, .invalidQueueName])
        broker.submit(Note("first", in: "small")) { codes.append($0.code) }
        broker.submit(Note("second", in: "small")) { codes.append($0.code) }
        try await #expect(codes.wait(forCount: 4).last == .queueFull)
        await broker.close()
        broker.submit(Note("closed")) { codes.append($0.code) }
        #expect(codes.elements.last == .closed)
    }

    @Test("G13: without a closure the error is logged, and not the payload")
    func logged() async throws {
        let lines = EventLog<String>()
        let broker = try await Site(.memory).broker { $0.logger = .keeping(lines, from: .error) }
        broker.submit(Note("secret", order: .real(.nan)))
        let line = try #require(lines.elements.first)
        #expect(line.hasPrefix("error a submitted action is not stored "), "\(line)")
        #expect(line.contains("kind=note") && line.contains("queue=notes"), "\(line)")
        #expect(!line.contains("secret"))
        await broker.close()
    }

    @Test("A submission is stored though its broker is released at once")
    func released() async throws {
        let site = try Site()
        func submit() async throws { try await site.broker().submit(Note("a")) }
        try await submit()
        // The file can be opened again when the released broker has closed it.
        var again: Broker?
        while again == nil {
            do {
                again = try await site.broker()
            } catch let error as SluiceError where error.code == .alreadyOpen {
                await Task.yield()
            }
        }
        let broker = try #require(again)
        try await #expect(texts(broker) == ["a"])
        await broker.close()
    }
}
