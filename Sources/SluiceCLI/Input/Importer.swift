internal import Sluice

/// Turns lines into actions and stores them in batches.
struct Importer<Item: Sendable> {
    /// What is done with the lines.
    struct Work {
        /// The action of a line; `nil` for an empty one.
        let make: ([UInt8]) throws(Refusal) -> Item?
        /// Stores actions, all or none.
        let store: ([Item]) async throws -> Void
        var batchSize = 1_000
        /// Lines before this one are passed over.
        var firstLine = 1
        /// Whether the lines behind one that is refused are stored too.
        var passesOverRefused = true
    }

    /// The most payload bytes of a batch: it bounds memory and the size of a transaction.
    private static var batchByteCount: Int { 8 * 1_024 * 1_024 }

    private struct Numbered {
        let line: Int
        let item: Item
    }

    private let work: Work
    private var progress = ProgressBar(isShown: Terminal.showsProgress)
    private var batch: [Numbered] = []
    private var byteCount = 0
    /// Lines that have been read.
    private(set) var line = 0
    /// Lines whose actions are durable.
    private(set) var enqueued = 0
    /// Lines that were refused; each has been reported.
    private(set) var refused = 0

    init(_ work: Work) {
        self.work = work
    }

    /// Enqueues every line.
    mutating func run(_ reader: inout LineReader) async throws {
        defer { progress.clear() }
        while let next = try reader.nextLine() {
            line += 1
            if line < work.firstLine { continue }
            try await take(next, maximumByteCount: BrokerOptions().maximumPayloadByteCount)
            if batch.count >= work.batchSize || byteCount >= Self.batchByteCount {
                try await flush()
                progress.update(
                    fraction: reader.byteCount.map { $0 > 0 ? Double(reader.position) / Double($0) : 1 },
                    "\(enqueued) enqueued, \(refused) refused"
                )
            }
        }
        try await flush()
    }

    private mutating func take(_ next: LineSplitter.Line, maximumByteCount: Int) async throws {
        do throws(Refusal) {
            guard case .bytes(let bytes) = next else {
                throw Refusal("it has more than \(maximumByteCount) bytes")
            }
            guard let item = try work.make(bytes) else { return }
            batch.append(Numbered(line: line, item: item))
            byteCount += bytes.count
        } catch {
            // What stands before it is stored, whatever follows.
            if !work.passesOverRefused { try await flush() }
            try refuse(line, error.reason)
        }
    }

    private mutating func refuse(_ line: Int, _ reason: String) throws {
        refused += 1
        progress.clear()
        Terminal.remark("line \(line): \(reason)")
        if !work.passesOverRefused {
            throw Failure(
                .refused,
                "the lines before \(line) are stored; mend it and go on with --first-line \(line), or pass "
                    + "over such lines with --skip-bad"
            )
        }
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
            try await work.store(lines.map(\.item))
            enqueued += lines.count
        } catch let error as SluiceError where Self.concernsALine(error.code) {
            guard lines.count > 1 else { return try refuse(first.line, error.message) }
            let middle = lines.startIndex + lines.count / 2
            try await enqueue(lines[..<middle])
            try await enqueue(lines[middle...])
        }
    }

    private static func concernsALine(_ code: SluiceError.Code) -> Bool {
        [
            .invalidQueueName, .invalidKind, .invalidGate, .invalidOptions, .sortKeyMismatch,
            .sortKeyNotANumber, .payloadNotJSON, .payloadTooLarge, .queueFull,
        ]
        .contains(code)
    }
}
