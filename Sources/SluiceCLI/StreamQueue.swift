#if CommandLineTool
internal import Dispatch
internal import Synchronization
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Lines for a standard stream, written by a thread of their own.
///
/// If the reader of the stream stops reading, only the source of the lines waits: no handler, stop or
/// deadline does.
final class StreamQueue: Sendable {
    /// The most bytes that wait; a single line may be longer.
    private static let limit = 1_024 * 1_024

    fileprivate struct State {
        var waiting: [UInt8] = []
        /// Whether the last byte ends a line.
        var isAtLineStart = true
        var isWriting = false
        /// Lines that were dropped because there was no room.
        var lostCount = 0
        /// Called when there is room again.
        var paused: [@Sendable () -> Void] = []
        var flushes: [@Sendable () -> Void] = []
    }

    private let descriptor: FileDescriptor
    private let failed: @Sendable (any Error) -> Void
    private let state = Mutex(State())
    private let queue: DispatchQueue

    /// - Parameter failed: Called with the error of a failed write.
    init(_ descriptor: FileDescriptor, failed: @escaping @Sendable (any Error) -> Void) {
        (self.descriptor, self.failed) = (descriptor, failed)
        queue = DispatchQueue(label: "sluice.stream.\(descriptor.rawValue)")
    }

    /// Adds lines, whatever the number of waiting ones.
    func add(_ bytes: [UInt8]) {
        start(state.withLock { $0.add(bytes) })
    }

    /// Adds a line, which begins at a line's start, if there is room; otherwise counts it as lost.
    func addIfRoom(_ bytes: [UInt8]) {
        start(
            state.withLock { state in
                guard state.waiting.count < Self.limit else {
                    state.lostCount += 1
                    return false
                }
                state.startLine()
                return state.add(bytes)
            }
        )
    }

    /// Calls `resume` when there is room again.
    ///
    /// - Returns: `false` if there is room now; `resume` is then not called.
    func pause(until resume: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            guard state.waiting.count >= Self.limit else { return false }
            state.paused.append(resume)
            return true
        }
    }

    /// Waits until everything has been written, or the time is over.
    ///
    /// - Parameter limit: `nil` waits without a limit.
    /// - Returns: How many bytes are not written.
    func flush(within limit: Duration?) async -> Int {
        let arrival = Arrival<Void>()
        let isEmpty = state.withLock { state in
            if state.waiting.isEmpty && !state.isWriting { return true }
            state.flushes.append { arrival.come(()) }
            return false
        }
        if isEmpty { return 0 }
        let timer = limit.map { limit in
            Task {
                do { try await Task.sleep(for: limit) } catch { return }
                arrival.come(())
            }
        }
        await arrival.wait()
        timer?.cancel()
        return state.withLock { $0.isWriting ? max($0.waiting.count, 1) : 0 }
    }

    private func start(_ isNeeded: Bool) {
        if isNeeded { queue.async { self.work() } }
    }

    private func work() {
        while true {
            let (bytes, resumed, flushed) = state.withLock { state in state.take() }
            for resume in resumed { resume() }
            guard let bytes else {
                for flush in flushed { flush() }
                return
            }
            do { try descriptor.writeFully(bytes) } catch { failed(error) }
        }
    }
}

extension StreamQueue.State {
    /// - Returns: Whether to start the thread.
    fileprivate mutating func add(_ bytes: [UInt8]) -> Bool {
        waiting += bytes
        if let last = bytes.last { isAtLineStart = last == UInt8(ascii: "\n") }
        defer { isWriting = true }
        return !isWriting
    }

    /// Ends a line that a command has begun.
    fileprivate mutating func startLine() {
        if !isAtLineStart { waiting.append(UInt8(ascii: "\n")) }
        isAtLineStart = true
    }

    /// Returns the next bytes to write and the callbacks to make; no bytes end the thread's work.
    fileprivate mutating func take() -> ([UInt8]?, [@Sendable () -> Void], [@Sendable () -> Void]) {
        if lostCount > 0 {
            startLine()
            waiting += Array("sluice: \(lostCount) lines were left out here, as nobody read them\n".utf8)
            lostCount = 0
        }
        guard !waiting.isEmpty else {
            isWriting = false
            defer { flushes = [] }
            return (nil, [], flushes)
        }
        defer { (waiting, paused) = ([], []) }
        return (waiting, paused, [])
    }
}

extension FileDescriptor {
    /// Writes all bytes, also to a descriptor in non-blocking mode.
    func writeFully(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                do {
                    rest = UnsafeRawBufferPointer(rebasing: rest[try write(rest)...])
                } catch Errno.wouldBlock {
                    try wait(for: POLLOUT)
                }
            }
        }
    }

    /// Reads, also from a descriptor in non-blocking mode.
    func readWaiting(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while true {
            do { return try read(into: buffer) } catch Errno.wouldBlock { try wait(for: POLLIN) }
        }
    }

    private func wait(for event: Int32) throws {
        var wish = pollfd(fd: rawValue, events: Int16(event), revents: 0)
        if poll(&wish, 1, -1) < 0, errno != EINTR { throw Errno(rawValue: errno) }
    }
}
#endif
