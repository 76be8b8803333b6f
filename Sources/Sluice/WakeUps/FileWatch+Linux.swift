#if os(Linux)
internal import Dispatch

/// Tells of the next write to a file, once each time it is set, by inotify.
///
/// It opens no descriptor on the file. Once it has fired, further writes cost their writers nothing until it
/// is set again. The path is looked up each time, so that a file that was replaced is found.
final class FileWatch: Sendable {
    private let path: String
    private let queue: DispatchQueue
    private let fired: @Sendable () -> Void
    /// What is watched, by inotify's number; `nil` when it has fired.
    ///
    /// Confined to the queue.
    private nonisolated(unsafe) var watched: Int32?

    /// Makes a watch that is not set yet.
    ///
    /// - Parameter fired: Called on the queue.
    /// - Returns: `nil` where the system gives no more of them (`fs.inotify.max_user_instances`).
    init?(path: String, queue: DispatchQueue, fired: @escaping @Sendable () -> Void) {
        guard Inotify.shared.join() else { return nil }
        self.path = path
        self.queue = queue
        self.fired = fired
    }

    /// Sets the watch; called on the queue.
    ///
    /// - Returns: Whether it is set: there may be no such file, or no more watches to be had.
    func arm() -> Bool {
        watched = Inotify.shared.watch(path, for: self)
        return watched != nil
    }

    /// Ends the watch, once; called on the queue.
    ///
    /// It must be called: until then it counts among those that need inotify.
    ///
    /// - Parameter ended: Called on some thread when it is told of nothing more, and the process's descriptor
    ///   is closed if no other watch needs it.
    func end(_ ended: @escaping @Sendable () -> Void) {
        if let watched { Inotify.shared.forget(watched, of: self) }
        watched = nil
        Inotify.shared.leave(ended)
    }

    /// Something has happened to a file; called by inotify's thread.
    func heard(of number: Int32?) {
        queue.async {
            // Each event is followed by one which says that the watch is gone. When that comes for one that
            // has been set anew meanwhile, the new one is gone too.
            guard let watched = self.watched, number == nil || number == watched else { return }
            self.watched = nil
            self.fired()
        }
    }
}
#endif
