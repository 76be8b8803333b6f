internal import Synchronization

/// Registers the files that stores of this process have open, so that no file is open twice.
///
/// With two writers, SQLite before 3.51.3 can lose commits (the WAL-reset bug). Also, closing a connection of
/// one store would drop the locks of the other (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
///
/// A file system reuses the inode of a deleted file at once. So two pairs of steps are atomic under one lock:
/// reading a file's inode and registering it, and closing the last connection and unregistering it. The file
/// of a suspended store may be deleted, and another file may get its inode.
enum OpenFiles {
    private static let registrations = Mutex<[DatabaseFile.Identity: Registration]>([:])

    /// The right to have a file open; it is ended once.
    final class Registration: Sendable {
        private let path: String
        private let identity: DatabaseFile.Identity
        /// Whether no connection is open, so that the file may be deleted.
        private let isAtRest = Atomic(false)

        fileprivate init(_ path: String, _ identity: DatabaseFile.Identity) {
            self.path = path
            self.identity = identity
        }

        /// Records that all connections are closed, to be opened again.
        func rest() { isAtRest.store(true, ordering: .releasing) }
        /// Records that connections are open again; the file is still at its path.
        func wake() { isAtRest.store(false, ordering: .releasing) }

        func end(closing close: () -> Void) {
            registrations.withLock { registrations in
                close()
                if registrations[identity] === self { registrations[identity] = nil }
            }
        }

        fileprivate var hasGone: Bool {
            isAtRest.load(ordering: .acquiring) && DatabaseFile.identity(of: path) != identity
        }
    }

    static func register(_ path: String) throws(SluiceError) -> Registration {
        try registrations.withLock { registrations throws(SluiceError) in
            guard let identity = DatabaseFile.identity(of: path) else { throw DatabaseFile.isMissing(path) }
            if let other = registrations[identity], !other.hasGone, !mutant("one broker a file") {
                let message = "this process has a broker on \(path) already: share it, or close it first"
                throw SluiceError(.alreadyOpen, message)
            }
            let registration = Registration(path, identity)
            registrations[identity] = registration
            return registration
        }
    }
}
