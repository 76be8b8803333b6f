#if os(Linux)
internal import Dispatch
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The process's inotify instance (<https://man7.org/linux/man-pages/man7/inotify.7.html>).
///
/// All brokers share one, since most systems allow a user 128 of them in all processes together.
final class Inotify: Sendable {
    static let shared = Inotify()

    /// Writes and truncations, and events that end the watch of this file, to find another one at the path.
    private static let mask =
        UInt32(IN_MODIFY) | UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)
        | UInt32(IN_ONESHOT)

    private struct State {
        var instance: Int32 = -1
        var source: (any DispatchSourceRead)?
        /// Watches that are set or may be.
        var memberCount = 0
        var watches: [Int32: FileWatch] = [:]
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "sluice.inotify", qos: .userInitiated)

    /// Counts one more watch, and returns whether the system has provided an instance.
    func join() -> Bool {
        state.withLock { state in
            if state.memberCount == 0 {
                let instance = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
                guard instance >= 0 else { return false }
                let source = DispatchSource.makeReadSource(fileDescriptor: instance, queue: queue)
                source.setEventHandler { [weak self] in self?.takeEvents(of: instance) }
                source.activate()
                (state.instance, state.source) = (instance, source)
            }
            state.memberCount += 1
            return true
        }
    }

    /// Counts one watch less; the last closes the instance; `ended` is called on some thread after that.
    func leave(_ ended: @escaping @Sendable () -> Void) {
        let isLast = state.withLock { state in
            state.memberCount -= 1
            guard state.memberCount == 0, let source = state.source else { return false }
            let instance = state.instance
            source.setCancelHandler {
                close(instance)
                ended()
            }
            source.cancel()
            state = State()
            return true
        }
        if !isLast { ended() }
    }

    /// Watches a path until the next event; returns its number, unless the file or a free watch is missing.
    func watch(_ path: String, for watch: FileWatch) -> Int32? {
        // The lock is held, so that an event of the new number finds its watch.
        state.withLock { state in
            let number = inotify_add_watch(state.instance, path, Self.mask)
            guard number >= 0 else { return nil }
            state.watches[number] = watch
            return number
        }
    }

    func forget(_ number: Int32, of watch: FileWatch) {
        state.withLock { state in
            guard state.watches[number] === watch else { return }
            state.watches[number] = nil
            inotify_rm_watch(state.instance, number)
        }
    }

    private func takeEvents(of instance: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            while true {
                let count = read(instance, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset < count {
                    let bytes = UnsafeRawBufferPointer(buffer)
                    let event = bytes.loadUnaligned(fromByteOffset: offset, as: inotify_event.self)
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                    take(event)
                }
            }
        }
    }

    private func take(_ event: inotify_event) {
        if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
            // Events were dropped, of any watch.
            for watch in state.withLock({ Array($0.watches.values) }) { watch.heard(of: nil) }
            return
        }
        let watch = state.withLock { state in
            event.mask & UInt32(IN_IGNORED) != 0
                ? state.watches.removeValue(forKey: event.wd) : state.watches[event.wd]
        }
        watch?.heard(of: event.wd)
    }
}
#endif
