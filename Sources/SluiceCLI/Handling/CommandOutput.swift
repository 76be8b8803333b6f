#if CommandLineTool
internal import Synchronization
internal import SystemPackage

/// Reads the standard output, or the standard error, of a command.
final class CommandOutput: Sendable {
    private static let pieceByteCount = 65_536

    /// The end that the command writes to; the caller closes it after the start.
    let writing: FileDescriptor
    /// The end that is read; a ``CommandKeeper`` has it too.
    let reading: FileDescriptor
    private let watch: DescriptorWatch
    private let ended = Arrival<Void>()
    private let number = Mutex<Int?>(nil)
    private let hasPaused = Atomic(false)
    private let pieces = Atomic(0)

    init(_ watch: DescriptorWatch) throws(StartFailure) {
        self.watch = watch
        (reading, writing) = try CommandPipe.make()
    }

    /// Whether reading is paused because earlier output waits for its consumer.
    var isPaused: Bool { hasPaused.load(ordering: .acquiring) }

    /// How many pieces have arrived.
    var pieceCount: Int { pieces.load(ordering: .acquiring) }

    /// Reads until the end, or until it is stopped.
    ///
    /// - Parameters: As for ``begin(for:_:)``.
    func read(
        for stream: StreamQueue? = nil,
        _ take: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) async {
        begin(for: stream, take)
        await end()
    }

    /// Waits until everything is read, or reading is stopped.
    func end() async { await ended.wait() }

    /// Begins to read.
    ///
    /// - Parameters:
    ///   - stream: The stream for the output, if any; reading pauses when it has no room.
    ///   - take: Receives each piece, one after the other.
    func begin(
        for stream: StreamQueue? = nil,
        _ take: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) {
        number.withLock { [self] in
            $0 = watch.add(
                reading,
                read: { self.readPiece(take) ? self.pauses(for: stream) ? .pause : .read : .end },
                ended: { [ended] in ended.come(()) }
            )
        }
    }

    private func pauses(for stream: StreamQueue?) -> Bool {
        guard let stream else { return false }
        hasPaused.store(true, ordering: .releasing)
        let isFull = stream.pause { [self] in
            hasPaused.store(false, ordering: .releasing)
            if let number = number.withLock({ $0 }) { watch.resume(number) }
        }
        if !isFull { hasPaused.store(false, ordering: .releasing) }
        return isFull
    }

    /// Stops reading, even if other processes have the output open.
    ///
    /// It does not wait for a piece that is being passed on.
    func stop() {
        ended.come(())
        if let number = number.withLock({ $0 }) { watch.stop(number) }
    }

    /// Closes an output that will not be read.
    func discard() { try? reading.close() }

    /// - Returns: Whether there may be more.
    private func readPiece(_ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.pieceByteCount, alignment: 1) { buffer in
            do {
                let count = try reading.read(into: buffer)
                guard count > 0 else { return false }
                pieces.add(1, ordering: .acquiringAndReleasing)
                take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                return true
            } catch {
                Terminal.remark("a command's output cannot be read: \(error)")
                return false
            }
        }
    }
}
#endif
