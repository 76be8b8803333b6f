#if os(Linux)
/// Reports the next write to a file by inotify, once each time it is set.
///
/// It opens no descriptor of the file. After it has fired, further writes cost their writers nothing until it
/// is set again. The path is resolved each time, so that a replaced file is found.
final class FileWatch: WorkWatch {
    private let path: String
    private let queue: any WorkQueue
    private let fired: @Sendable () -> Void
    /// The watch's number in inotify, `nil` when it has fired; confined to the queue.
    private nonisolated(unsafe) var watched: Int32?

    /// Returns `nil` if the system provides no more of them (`fs.inotify.max_user_instances`).
    init?(path: String, queue: any WorkQueue, fired: @escaping @Sendable () -> Void) {
        guard Inotify.shared.join() else { return nil }
        (self.path, self.queue, self.fired) = (path, queue, fired)
    }

    /// Sets the watch, unless the file is missing or there are no more watches; call it on the queue.
    func arm() -> Bool {
        watched = Inotify.shared.watch(path, for: self)
        return watched != nil
    }

    /// Ends the watch, which keeps inotify open until then; call it once, on the queue.
    ///
    /// Calls `ended` on some thread after the last event, when inotify is closed unless another needs it.
    func end(_ ended: @escaping @Sendable () -> Void) {
        if let watched { Inotify.shared.forget(watched, of: self) }
        watched = nil
        Inotify.shared.leave(ended)
    }

    /// Handles an event of a file; called by inotify's thread.
    func heard(of number: Int32?) {
        queue.add {
            // A second event follows each, to report that the watch has ended. If that arrives after the
            // watch was set again, the new watch has ended too.
            guard let watched = self.watched, number == nil || number == watched else { return }
            self.watched = nil
            self.fired()
        }
    }
}
#endif
