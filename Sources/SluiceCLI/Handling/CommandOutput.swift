#if CommandLineTool
internal import Synchronization
internal import SystemPackage

/// What a command writes to its standard output, as it comes.
final class CommandOutput: Sendable {
    private static let pieceByteCount = 65_536

    /// Where the command writes to; the caller closes it when the command has it.
    let writing: FileDescriptor
    private let reading: FileDescriptor
    private let watch: DescriptorWatch
    private let ended = Arrival<Void>()
    private let number = Mutex<Int?>(nil)
    private let hasPaused = Atomic(false)

    init(_ watch: DescriptorWatch) throws(StartFailure) {
        self.watch = watch
        (reading, writing) = try CommandPipe.make()
    }

    /// Whether nothing is read as what was read before waits for somebody.
    var isPaused: Bool { hasPaused.load(ordering: .acquiring) }

    /// Reads until the end, or until it is stopped.
    ///
    /// - Parameters:
    ///   - stream: Where it is passed on to, if it is: no more is read than that has room for.
    ///   - take: Gets each piece, one after the other.
    func read(
        for stream: StreamQueue? = nil,
        _ take: @escaping @Sendable (UnsafeRawBufferPointer) -> Void
    ) async {
        number.withLock { [self] in
            $0 = watch.add(
                reading,
                read: { self.readPiece(take) ? self.pauses(for: stream) ? .pause : .read : .end },
                ended: { [ended] in ended.come(()) }
            )
        }
        await ended.wait()
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

    /// Reads no more: whatever still has the other end, nobody waits for it.
    ///
    /// It may be in the middle of passing something on, which nobody waits for either.
    func stop() {
        ended.come(())
        if let number = number.withLock({ $0 }) { watch.stop(number) }
    }

    /// Closes what is not to be read.
    func discard() { try? reading.close() }

    /// - Returns: Whether there may be more.
    private func readPiece(_ take: (UnsafeRawBufferPointer) -> Void) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.pieceByteCount, alignment: 1) { buffer in
            do {
                let count = try reading.read(into: buffer)
                if count > 0 { take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) }
                return count > 0
            } catch {
                Terminal.remark("a command's output cannot be read: \(error)")
                return false
            }
        }
    }
}

/// A pipe between this process and a command.
enum CommandPipe {
    static func make() throws(StartFailure) -> (reading: FileDescriptor, writing: FileDescriptor) {
        do {
            let (reading, writing) = try FileDescriptor.pipe()
            return (reading, writing)
        } catch {
            throw StartFailure(error)
        }
    }
}
#endif
