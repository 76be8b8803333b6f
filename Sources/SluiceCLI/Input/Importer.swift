internal import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Turns lines of JSON into actions and enqueues them in batches.
struct Importer {
    /// What a line's action is made of.
    struct Plan {
        enum Queue {
            case fixed(String)
            case field(String)
        }

        let queue: Queue
        let queuePrefix: String
        let kind: String
        let sortField: String?
        let sortType: SortType
    }

    /// The most payload bytes of a batch: it bounds memory and the size of a transaction.
    private static let batchByteCount = 8 * 1_024 * 1_024

    private struct Numbered {
        let line: Int
        let action: RawAction
    }

    private let broker: Broker
    private let plan: Plan
    private let batchSize: Int
    private var progress = ProgressBar(isShown: Terminal.showsProgress)
    private var batch: [Numbered] = []
    private var byteCount = 0
    /// Lines that have been read.
    private(set) var line = 0
    /// Lines whose actions are durable.
    private(set) var enqueued = 0
    /// Lines that were refused; each has been reported.
    private(set) var refused = 0

    init(broker: Broker, plan: Plan, batchSize: Int) {
        self.broker = broker
        self.plan = plan
        self.batchSize = batchSize
    }

    /// Enqueues every line.
    mutating func run(_ reader: inout LineReader) async throws {
        defer { progress.clear() }
        while let next = try reader.nextLine() {
            line += 1
            take(next, maximumByteCount: BrokerOptions().maximumPayloadByteCount)
            if batch.count >= batchSize || byteCount >= Self.batchByteCount {
                try await flush()
                progress.update(
                    fraction: reader.byteCount.map { $0 > 0 ? Double(reader.position) / Double($0) : 1 },
                    "\(enqueued) enqueued, \(refused) refused"
                )
            }
        }
        try await flush()
    }

    private mutating func take(_ next: LineSplitter.Line, maximumByteCount: Int) {
        do throws(Refusal) {
            guard case .bytes(let bytes) = next else {
                throw Refusal("it has more than \(maximumByteCount) bytes")
            }
            guard let action = try action(bytes) else { return }
            batch.append(Numbered(line: line, action: action))
            byteCount += bytes.count
        } catch {
            refuse(line, error.reason)
        }
    }

    /// The action of a line; `nil` for an empty one.
    private func action(_ bytes: [UInt8]) throws(Refusal) -> RawAction? {
        if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) { return nil }
        guard let payload = String(validating: bytes, as: UTF8.self) else { throw Refusal("it is not UTF-8") }
        let fields = try JSONLine(Data(bytes), fields: plan.fields)
        let sortKey = try plan.sortField.map { name throws(Refusal) in
            try plan.sortType.key(fields[name], of: "the field '\(name)'")
        }
        return RawAction(
            queue: QueueName(plan.queuePrefix + (try plan.queueName(fields))),
            kind: plan.kind,
            sortKey: sortKey ?? .arrival,
            payload: payload
        )
    }

    private mutating func refuse(_ line: Int, _ reason: String) {
        refused += 1
        progress.clear()
        Terminal.remark("line \(line): \(reason)")
    }

    private mutating func flush() async throws {
        let lines = batch[...]
        batch = []
        byteCount = 0
        try await enqueue(lines)
    }

    /// Enqueues lines in their order.
    ///
    /// A batch is stored as a whole or not at all: where the file refuses one, its halves are tried, down to
    /// the line at fault.
    private mutating func enqueue(_ lines: ArraySlice<Numbered>) async throws {
        guard let first = lines.first else { return }
        do {
            try await broker.enqueue(raw: lines.map(\.action))
            enqueued += lines.count
        } catch let error as SluiceError where Self.concernsALine(error.code) {
            guard lines.count > 1 else { return refuse(first.line, error.message) }
            let middle = lines.startIndex + lines.count / 2
            try await enqueue(lines[..<middle])
            try await enqueue(lines[middle...])
        }
    }

    private static func concernsALine(_ code: SluiceError.Code) -> Bool {
        [
            .invalidQueueName, .sortKeyMismatch, .sortKeyNotANumber, .payloadNotJSON, .payloadTooLarge,
            .queueFull,
        ]
        .contains(code)
    }
}

extension Importer.Plan {
    /// The fields that are needed of each line.
    var fields: [String] {
        var fields = sortField.map { [$0] } ?? []
        if case .field(let name) = queue { fields.append(name) }
        return fields
    }

    func queueName(_ line: JSONLine) throws(Refusal) -> String {
        switch queue {
        case .fixed(let name): return name
        case .field(let field):
            switch line[field] {
            case .text(let name): return name
            case .integer(let number): return String(number)
            case .missing: throw Refusal("the field '\(field)' is missing")
            case let other: throw Refusal("the field '\(field)' is \(other.article), not the name of a queue")
            }
        }
    }
}
