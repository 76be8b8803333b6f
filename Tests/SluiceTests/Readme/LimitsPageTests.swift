import Foundation
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

private func letters(_ count: Int) -> String { String(repeating: "x", count: count) }

/// The page that lists the limits of the library, and the code that has them.
@Suite("The page on limits", .watched) struct LimitsPageTests {
    private struct Row {
        let subject: String
        let limit: Int
        let consequence: String
    }

    private struct UnknownSubject: Error {}

    @Test("What reaches a limit is accepted; one more throws the error of the row")
    func refused() async throws {
        let rows = try Self.rows().filter { $0.consequence.hasPrefix("``SluiceError/Code/") }
        #expect(rows.count == 16)
        for row in rows {
            let code = row.consequence.dropFirst("``SluiceError/Code/".count).dropLast(2)
            await #expect(throws: Never.self, "\(row)") { try await Self.use(row.subject, row.limit) }
            let error = await #expect(throws: SluiceError.self, "\(row)") {
                try await Self.use(row.subject, row.limit + 1)
            }
            #expect(error?.code.description == String(code), "\(row)")
        }
    }

    @Test("Limits beyond which nothing is thrown are those of the code")
    func kept() throws {
        let rows = try Self.rows().filter { !$0.consequence.hasPrefix("``SluiceError/Code/") }
        #expect(rows.count == 9)
        for row in rows {
            let limits = try Self.limits(of: row.subject)
            #expect(limits == Set([row.limit]), "\(row)")
        }
    }

    /// Has the library check a value that is so large.
    private static func use(_ subject: String, _ count: Int) async throws {
        switch subject {
        case "bytes of a queue's name": try QueueName(letters(count)).validateForActions()
        case "bytes of a kind": try validateKind(letters(count))
        case "bytes of a gate's name": try GateName(letters(count)).validate()
        case "bytes of a tag": try EnqueueOptions(tag: letters(count)).validate()
        case "bytes of a deduplication key": try DeduplicationKey(letters(count)).validate()
        case "bytes of a group's name": try GroupName(letters(count)).validate()
        case "groups that an action starts, and groups that it is a member of":
            let groups = (0..<count).map { GroupName("\($0)") }
            try EnqueueOptions(startsGroups: groups).validate()
            try EnqueueOptions(memberOf: groups).validate()
        case "bytes of a payload, if no option is set": try check(payload: "\"\(letters(count - 2))\"")
        case "arrays and objects inside each other in a payload":
            let open = String(repeating: "[", count: count)
            try check(payload: open + String(repeating: "]", count: count))
        case "``RateLimit/burst``": try RateLimit(1, per: .seconds(1), burst: count).validate()
        case "bytes of a rate limit's name":
            try RateLimit(1, per: .seconds(1), name: letters(count)).validate()
        case "slots of a queue, ``QueueDiscipline/maximumSlots``":
            try QueueDiscipline.concurrent(count).validate()
        default: try await useBroker(subject, count)
        }
    }

    private static func useBroker(_ subject: String, _ count: Int) async throws {
        var options = BrokerOptions()
        switch subject {
        case "``BrokerOptions/maximumPayloadByteCount``":
            options.maximumPayloadByteCount = count
            try options.validate()
        case "``BrokerOptions/concurrency``":
            options.concurrency = count
            try options.validate()
        case "characters of a hold's holder":
            let broker = try await Broker.inMemory(options)
            try await broker.hold("*", by: letters(count))
        case "characters of a hold's reason":
            let broker = try await Broker.inMemory(options)
            try await broker.hold("*", by: "ops", reason: letters(count))
        default: throw UnknownSubject()
        }
    }

    private static func check(payload: String) throws {
        let coder = PayloadCoder(maximumByteCount: BrokerOptions().maximumPayloadByteCount)
        try coder.check(payload, of: "a test")
    }

    /// The most parts of a sort key.
    private static var partCount: Int {
        let counts = (2...9).filter { SortKey.Kind(parts: Array(repeating: .integer, count: $0)) != nil }
        return counts.max() ?? 0
    }

    /// The different numbers that the code has for a row.
    private static func limits(of subject: String) throws -> Set<Int> {
        switch subject {
        case "bytes of the file's path, without symbolic links": [DatabaseFile.longestPath]
        case "parts of a composite sort key":
            [partCount]
        case "bytes of the text of an error or a reason": [SluiceError.maximumTextByteCount]
        case "failed attempts that are kept for an action": [AttemptHistory.historyLimit]
        case "bytes of a trace": [TraceText.maximumByteCount]
        case "events that wait for a slow observer, if nothing else is said":
            [EventBuffering.bounded().limit]
        case "seconds of a wait that ``RetryAfter`` returns": [Int(RetryAfter.longest.components.seconds)]
        case "days of a delay, a closing or a retention":
            [Int(Duration.seconds(Int64.max / 2).wholeMicroseconds / 86_400_000_000)]
        case "actions that one transaction cancels, requeues, purges, expires or dead-letters":
            [
                Cancellations.cancelBatchSize, DeadLetters.batchSize, Expiry.sweepBatchSize,
                Failures.failBatchSize, HandleOperations.clearBatchSize,
            ]
        default: throw UnknownSubject()
        }
    }

    /// The rows of all tables of the page whose second cell is a number.
    private static func rows() throws -> [Row] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../Sources/Sluice/Sluice.docc/Limits.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard line.hasPrefix("| "), cells.count == 3,
                let limit = Int(cells[1].replacingOccurrences(of: ",", with: ""))
            else { return nil }
            return Row(subject: cells[0], limit: limit, consequence: cells[2])
        }
    }
}
