#if os(Linux)
internal import Dispatch

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Tells of the next write to a file, once each time it is set, by inotify
/// (<https://man7.org/linux/man-pages/man7/inotify.7.html>).
///
/// It opens no descriptor on the file. Once it has fired, further writes cost their writers nothing until it
/// is set again. The path is looked up each time, so that a file that was replaced is found.
final class FileWatch: Sendable {
    /// A write or a cut; and what ends the watch of this very file, to look for another one at the path.
    private static let mask =
        UInt32(IN_MODIFY) | UInt32(IN_ATTRIB) | UInt32(IN_MOVE_SELF) | UInt32(IN_DELETE_SELF)
        | UInt32(IN_ONESHOT)

    private let path: String
    private let instance: Int32
    /// Sources are thread-safe; their protocol does not say so.
    private nonisolated(unsafe) let source: any DispatchSourceRead
    /// What is watched, by inotify's number; `nil` when it has fired.
    ///
    /// Confined to the queue.
    private nonisolated(unsafe) var watched: Int32?
    /// Confined to the queue.
    private nonisolated(unsafe) var ended: (@Sendable () -> Void)?

    /// Makes a watch that is not set yet.
    ///
    /// - Parameter fired: Called on the queue.
    /// - Returns: `nil` where the system gives no more of them (`fs.inotify.max_user_instances`).
    init?(path: String, queue: DispatchQueue, fired: @escaping @Sendable () -> Void) {
        let instance = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard instance >= 0 else { return nil }
        self.path = path
        self.instance = instance
        source = DispatchSource.makeReadSource(fileDescriptor: instance, queue: queue)
        source.setEventHandler { [weak self] in
            if self?.takeEvents() == true { fired() }
        }
        source.setCancelHandler {
            close(instance)
            self.ended?()
        }
        source.activate()
    }

    /// Sets the watch; called on the queue.
    ///
    /// - Returns: Whether it is set: there may be no such file, or no more watches to be had.
    func arm() -> Bool {
        let number = inotify_add_watch(instance, path, Self.mask)
        watched = number >= 0 ? number : nil
        return number >= 0
    }

    /// Ends the watch, once; called on the queue.
    ///
    /// It must be called: until then the watch keeps itself.
    ///
    /// - Parameter ended: Called when the descriptor is closed.
    func end(_ ended: @escaping @Sendable () -> Void) {
        self.ended = ended
        source.cancel()
    }

    /// Reads what there is, and tells whether the watch that was set has fired.
    private func takeEvents() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
            var hasFired = false
            while true {
                let count = read(instance, buffer.baseAddress, buffer.count)
                guard count > 0 else { return hasFired }
                var offset = 0
                while offset < count {
                    let event = UnsafeRawBufferPointer(buffer).loadUnaligned(
                        fromByteOffset: offset,
                        as: inotify_event.self
                    )
                    offset += MemoryLayout<inotify_event>.size + Int(event.len)
                    // Each event is followed by IN_IGNORED, which says that the watch is gone. When that
                    // comes for one that has been set anew meanwhile, the new one is gone too.
                    if event.wd == watched || event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                        hasFired = true
                        watched = nil
                    }
                }
            }
        }
    }
}
#endif
