#if canImport(Darwin)
internal import Darwin
internal import Dispatch

/// Reports the next write to a file by kqueue, once each time it is set; untested, as our machines run Linux.
///
/// It needs a descriptor of the file. Closing one drops the process's locks on the file
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.2), so only SQLite may open the database or its `-shm`. The
/// WAL is the exception: SQLite locks no bytes of it (<https://www.sqlite.org/walformat.html>, 2.3).
final class FileWatch: WorkWatch {
    /// The call to make when a source's descriptor is closed.
    private final class Ending: Sendable {
        /// Confined to the queue.
        nonisolated(unsafe) var ended: @Sendable () -> Void = {}
    }

    private struct Opened {
        let source: any DispatchSourceFileSystemObject
        let device: dev_t
        let inode: ino_t
        let ending: Ending
    }

    private let path: String
    private let queue: DispatchQueue
    private let fired: @Sendable () -> Void
    /// The watched file, its source suspended while the watch is not set; confined to the queue.
    private nonisolated(unsafe) var opened: Opened?
    /// Confined to the queue.
    private nonisolated(unsafe) var isSet = false

    /// Returns `nil` for a queue that is not the system's.
    init?(path: String, queue: any WorkQueue, fired: @escaping @Sendable () -> Void) {
        guard let queue = queue as? DispatchQueue else { return nil }
        (self.path, self.queue, self.fired) = (path, queue, fired)
    }

    /// Sets the watch, and returns whether it is set; call it on the queue.
    func arm() -> Bool {
        guard !isSet else { return true }
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        if let opened, opened.device != status.st_dev || opened.inode != status.st_ino { end {} }
        if opened == nil { open() }
        guard let opened else { return false }
        isSet = true
        opened.source.resume()
        return true
    }

    private func open() {
        let descriptor = Darwin.open(path, O_EVTONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return
        }
        let source = DispatchSource.makeFileSystemObjectSource(
            fileDescriptor: descriptor,
            eventMask: [.write, .extend, .delete, .rename, .revoke],
            queue: queue
        )
        let ending = Ending()
        source.setEventHandler { [weak self] in self?.fire() }
        source.setCancelHandler {
            close(descriptor)
            ending.ended()
        }
        opened = Opened(source: source, device: status.st_dev, inode: status.st_ino, ending: ending)
    }

    private func fire() {
        guard isSet, let opened else { return }
        isSet = false
        opened.source.suspend()
        fired()
    }

    /// Ends the watch, and calls `ended` when the descriptor is closed; call it on the queue.
    func end(_ ended: @escaping @Sendable () -> Void) {
        guard let opened else { return ended() }
        opened.ending.ended = ended
        opened.source.cancel()
        // The handler of a suspended source is not called.
        if !isSet { opened.source.resume() }
        self.opened = nil
        isSet = false
    }
}
#endif
