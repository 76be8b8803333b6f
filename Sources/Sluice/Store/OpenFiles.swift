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
/// it, and closing the last connection and removing it.
enum OpenFiles {
    private static let identities = Mutex<Set<DatabaseFile.Identity>>([])

    /// The right to have a file open, until it is ended, once.
    final class Registration: Sendable {
        /// The file that was entered.
        let file: DatabaseFile.Identity
        private let identity: Mutex<DatabaseFile.Identity?>

        fileprivate init(_ identity: DatabaseFile.Identity) {
            file = identity
            self.identity = Mutex(identity)
        }

        /// Closes the last connection, and lets the file be opened again.
        func end(closing close: () -> Void) {
            identities.withLock { identities in
                close()
                if let identity = identity.withLock({ $0.take() }) { identities.remove(identity) }
            }
        }
    }

    /// Enters a file, before SQLite opens it.
    static func register(_ path: String) throws(SluiceError) -> Registration {
        try identities.withLock { identities throws(SluiceError) in
            guard let identity = DatabaseFile.identity(of: path) else {
                throw SluiceError(.cannotOpen, "there is no file \(path)")
            }
            guard identities.insert(identity).inserted else {
                throw SluiceError(
                    .alreadyOpen,
                    "this process has a broker on \(path) already: share it, or close it first"
                )
            }
            return Registration(identity)
        }
    }
}
