internal import Synchronization

/// The files that stores of this process have open.
///
/// Two in one process would be two writers that checkpoint, which SQLite before 3.51.3 can lose commits by
/// (the WAL-reset bug, <https://www.sqlite.org/wal.html#walresetbug>), and two brokers that run the same
/// queues. And the connection of a second one, when it is closed, would drop the locks of the first
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
///
/// A file is known by device and inode, and the file system uses an inode again as soon as its file is gone.
/// So both steps that must not be torn apart happen under one lock: asking for a file's inode and entering
/// it, and closing the last connection and removing it. A store that is suspended has no connection: its file
/// may go meanwhile, and another one get its inode.
enum OpenFiles {
    private static let registrations = Mutex<[DatabaseFile.Identity: Registration]>([:])

    /// The right to have a file open, until it is ended, once.
    final class Registration: Sendable {
        private let path: String
        private let identity: DatabaseFile.Identity
        /// Whether no connection is open, so that its file may have gone.
        private let isAtRest = Atomic(false)

        fileprivate init(_ path: String, _ identity: DatabaseFile.Identity) {
            self.path = path
            self.identity = identity
        }

        /// All connections have been closed, and are to be opened again.
        func rest() { isAtRest.store(true, ordering: .releasing) }

        /// They are open again; the file is still at its path.
        func wake() { isAtRest.store(false, ordering: .releasing) }

        /// Closes the last connection, and lets the file be opened again.
        func end(closing close: () -> Void) {
            registrations.withLock { registrations in
                close()
                if registrations[identity] === self { registrations[identity] = nil }
            }
        }

        /// Whether its inode belongs to another file by now.
        fileprivate var hasGone: Bool {
            isAtRest.load(ordering: .acquiring) && DatabaseFile.identity(of: path) != identity
        }
    }

    /// Enters a file, before SQLite opens it.
    static func register(_ path: String) throws(SluiceError) -> Registration {
        try registrations.withLock { registrations throws(SluiceError) in
            guard let identity = DatabaseFile.identity(of: path) else {
                throw SluiceError(.cannotOpen, "there is no file \(path): check the path")
            }
            if let other = registrations[identity], !other.hasGone, !mutant("one broker a file") {
                throw SluiceError(
                    .alreadyOpen,
                    "this process has a broker on \(path) already: share it, or close it first"
                )
            }
            let registration = Registration(path, identity)
            registrations[identity] = registration
            return registration
        }
    }
}
