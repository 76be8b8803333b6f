#if CommandLineTool
internal import Sluice

/// Stores items in batches, and reports refused ones.
struct Importer<Item: Sendable> {
    /// How to handle the items.
    struct Work {
        /// Stores items, all or none, and returns how many of them are new.
        let store: ([Item]) async throws -> Int
        var batchSize = 1_000
        /// Whether to continue after a refused item.
        var passesOverRefused = true
        /// Errors that concern a single item, so that the others are stored.
        var concernsOne: Set<SluiceError.Code> = Importer.concernsALine
    }

    /// The position of an item.
    enum Place: CustomStringConvertible {
        case line(Int)
        case file(String)

        var description: String {
            switch self {
            case .line(let number): "line \(number)"
            case .file(let name): name
            }
        }
    }

    /// The most payload bytes of a batch, which bounds memory and the size of a transaction.
    private static var batchByteCount: Int { 8 * 1_024 * 1_024 }

    private struct Placed {
        let place: Place
        let item: Item
    }

    /// How long a line may wait for others of its batch, so that it is durable within a second.
    private static var longestWait: Duration { .milliseconds(500) }

    private let work: Work
    /// Signals, which end the import after pending input.
    private let stop: StopRequests?
    /// When the first item of the batch arrived.
    private var waitsSince: ContinuousClock.Instant?
    private var progress = ProgressBar(isShown: Terminal.showsProgress)
    private var batch: [Placed] = []
    private var byteCount = 0
    /// Lines that have been read.
    private(set) var line = 0
    /// Items that are durable and new.
    private(set) var enqueued = 0
    /// Items that were stored before.
    private(set) var known = 0
    /// Items that were refused; each has been reported.
    private(set) var refused = 0
    /// Files that are not entries; each has been reported.
    private(set) var ignored = 0

    init(_ work: Work, _ stop: StopRequests? = nil) {
        (self.work, self.stop) = (work, stop)
    }

    /// Adds the next item, and stores a batch when it is full.
    ///
    /// - Parameter fraction: The part of the input that has been read; `nil` if its size is unknown.
    mutating func add(_ item: Item, at place: Place, byteCount count: Int, fraction: Double?) async throws {
        batch.append(Placed(place: place, item: item))
        byteCount += count
        if waitsSince == nil { waitsSince = .now }
        guard batch.count >= work.batchSize || byteCount >= Self.batchByteCount || hasWaited else { return }
        try await flush()
        progress.update(fraction: fraction, "\(enqueued) enqueued, \(refused) refused")
    }

    /// Reports a refused item, and ends the import if requested.
    mutating func refuse(_ place: Place, _ reason: String) async throws {
        // Earlier items are stored in any case.
        if !work.passesOverRefused { try await flush() }
        try noteRefusal(place, reason)
    }

    /// Reports a file that is not an entry.
    mutating func ignore(_ place: Place, _ reason: String) {
        ignored += 1
        report(place, reason)
    }

    private var hasWaited: Bool { waitsSince.map { .now - $0 >= Self.longestWait } ?? false }

    private mutating func noteRefusal(_ place: Place, _ reason: String) throws {
        refused += 1
        report(place, reason)
        guard !work.passesOverRefused, case .line(let number) = place else { return }
        // Later lines may have been read, for the same batch.
        line = number
        throw Failure(
            .refused,
            "the lines before \(number) are stored; correct line \(number) and continue with "
                + "--first-line \(number), or skip such lines with --skip-bad"
        )
    }

    private mutating func report(_ place: Place, _ reason: String) {
        progress.clear()
        Terminal.remark("\(place): \(reason)")
    }

    private mutating func flush() async throws {
        let items = batch[...]
        batch = []
        byteCount = 0
        waitsSince = nil
        try await store(items)
    }

    /// Stores items in their order.
    ///
    /// A batch is stored as a whole or not at all. If the file refuses one item, the halves are tried, down
    /// to that item.
    private mutating func store(_ items: ArraySlice<Placed>) async throws {
        guard let first = items.first else { return }
        do {
            let count = try await work.store(items.map(\.item))
            enqueued += count
            known += items.count - count
        } catch let error as SluiceError where work.concernsOne.contains(error.code) {
            guard items.count > 1 else { return try noteRefusal(first.place, error.message) }
            let middle = items.startIndex + items.count / 2
            try await store(items[..<middle])
            try await store(items[middle...])
        } catch {
            // Nothing of the batch is stored, of which later lines have been read.
            if case .line(let number) = first.place { line = number }
            throw error
        }
    }

    /// Each line has its own queue and sort key.
    private static var concernsALine: Set<SluiceError.Code> {
        [
            .invalidQueueName, .invalidKind, .invalidGate, .invalidOptions, .sortKeyMismatch,
            .sortKeyNotANumber, .payloadNotJSON, .payloadTooLarge, .queueFull, .unsupported,
        ]
    }
}

extension Importer {
    /// Reports the progress; after a signal, ends the process by it.
    func remarkOnStop(_ error: any Error) {
        guard let stopped = error as? Stopped else {
            return Terminal.remark("stopped at line \(line): \(enqueued) enqueued")
        }
        Terminal.remark(
            "stopped by signal \(stopped.signal) after line \(line): \(enqueued) enqueued, "
                + "\(refused) refused"
        )
        Signals.end(by: stopped.signal)
    }
}

extension Importer {
    /// Stores an item for each line.
    ///
    /// - Parameters:
    ///   - firstLine: Earlier lines are skipped.
    ///   - make: Returns the item of a line; `nil` for an empty one.
    mutating func run(
        _ reader: inout LineReader,
        from firstLine: Int = 1,
        make: ([UInt8]) throws(Refusal) -> Item?
    ) async throws {
        defer { progress.clear() }
        while true {
            let next: LineSplitter.Line
            let stop = self.stop
            let (waitsSince, longestWait) = (self.waitsSince, Self.longestWait)
            // After a signal, input that is already in a pipe is still read, but nothing of a file.
            let isFile = reader.byteCount != nil
            let read = try reader.nextLine {
                stop?.firstSignal != nil || waitsSince.map { .now - $0 >= longestWait } ?? false
            } until: {
                // A slow writer must not delay the batch.
                stop?.firstSignalAt.map { isFile || .now - $0 >= longestWait } ?? false
                    || waitsSince.map { .now - $0 >= longestWait } ?? false
            }
            switch read {
            case .end: return try await flush()
            case .line(let read): next = read
            case .nothingYet:
                try await flush()
                if let signal = stop?.firstSignal { throw Stopped(signal: signal) }
                continue
            }
            line += 1
            if line < firstLine { continue }
            let item: Item?
            let count: Int
            do throws(Refusal) {
                guard case .bytes(let bytes) = next else {
                    throw Refusal("it has more than \(BrokerOptions().maximumPayloadByteCount) bytes")
                }
                item = try make(bytes)
                count = bytes.count
            } catch {
                try await refuse(.line(line), error.reason)
                continue
            }
            guard let item else { continue }
            let fraction = reader.byteCount.map { $0 > 0 ? Double(reader.position) / Double($0) : 1 }
            try await add(item, at: .line(line), byteCount: count, fraction: fraction)
        }
    }

    /// Stores an item for each entry of a folder.
    mutating func run(_ reader: inout FolderReader, make: (FolderEntry) -> Item) async throws {
        defer { progress.clear() }
        while let next = reader.nextItem() {
            switch next {
            case .entry(let entry):
                try await add(
                    make(entry),
                    at: .file(entry.name),
                    byteCount: entry.payload.utf8.count,
                    fraction: reader.fraction
                )
            case .unreadable(let name, let reason): try await refuse(.file(name), reason)
            case .ignored(let name, let reason): ignore(.file(name), reason)
            }
        }
        try await flush()
    }
}
#endif
