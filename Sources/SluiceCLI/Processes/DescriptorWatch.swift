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

/// Reads from commands and their keeper, on a thread of its own.
///
/// Dispatch sources may miss on Linux that the other end of a pipe was closed.
final class DescriptorWatch: Sendable {
    /// The next step after a read.
    enum Next {
        /// There may be more.
        case read
        /// Stop reading until ``DescriptorWatch/resume(_:)``.
        case pause
        case end
    }

    private struct Entry {
        let descriptor: FileDescriptor
        let read: @Sendable () -> Next
        let ended: @Sendable () -> Void
        var isPaused = false
        var isStopped = false
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var last = 0
        var hasThread = false
    }

    private let state = Mutex(State())
    /// A byte written to it ends a wait.
    private let wake: (reading: FileDescriptor, writing: FileDescriptor)

    init() throws(StartFailure) {
        wake = try CommandPipe.make()
        for end in [wake.reading, wake.writing] { _ = fcntl(end.rawValue, F_SETFL, O_NONBLOCK) }
    }

    /// Watches a descriptor, and closes it at the end.
    ///
    /// - Parameters:
    ///   - read: Called when a read does not block.
    ///   - ended: Called after the descriptor was closed.
    /// - Returns: The number for ``stop(_:)``.
    func add(
        _ descriptor: FileDescriptor,
        read: @escaping @Sendable () -> Next,
        ended: @escaping @Sendable () -> Void = {}
    ) -> Int {
        let (number, needsThread) = state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(descriptor: descriptor, read: read, ended: ended)
            defer { state.hasThread = true }
            return (state.last, !state.hasThread)
        }
        if needsThread {
            DispatchQueue(label: "sluice.commands").async { [self] in
                while true { watch() }
            }
        } else {
            endWait()
        }
        return number
    }

    /// Stops watching a descriptor.
    func stop(_ number: Int) {
        state.withLock { $0.entries[number]?.isStopped = true }
        endWait()
    }

    /// Resumes reading from a descriptor.
    func resume(_ number: Int) {
        state.withLock { $0.entries[number]?.isPaused = false }
        endWait()
    }

    private func endWait() {
        // A full pipe ends the wait too.
        _ = try? wake.writing.writeAll([0])
    }

    /// Waits until a descriptor can be read, and reads.
    private func watch() {
        let entries = state.withLock { $0.entries.filter { !$0.value.isStopped && !$0.value.isPaused } }
        var wishes = [pollfd(fd: wake.reading.rawValue, events: Int16(POLLIN), revents: 0)]
        let numbers = Array(entries.keys)
        for number in numbers {
            guard let entry = entries[number] else { continue }
            wishes.append(pollfd(fd: entry.descriptor.rawValue, events: Int16(POLLIN), revents: 0))
        }
        poll(&wishes, nfds_t(wishes.count), -1)
        if wishes[0].revents != 0 {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                _ = try? wake.reading.read(into: buffer)
            }
        }
        for (number, wish) in zip(numbers, wishes.dropFirst()) where wish.revents != 0 {
            guard state.withLock({ $0.entries[number]?.isStopped == false }) else { continue }
            // Set before the read, as the call that ends the pause may follow at once.
            state.withLock { $0.entries[number]?.isPaused = true }
            switch entries[number]?.read() {
            case .read, nil: state.withLock { $0.entries[number]?.isPaused = false }
            case .pause: break
            case .end: state.withLock { $0.entries[number]?.isStopped = true }
            }
        }
        let ended = state.withLock { state in
            let ended = state.entries.filter { $0.value.isStopped }
            for number in ended.keys { state.entries[number] = nil }
            return ended.values
        }
        for entry in ended {
            try? entry.descriptor.close()
            entry.ended()
        }
    }
}
#endif
