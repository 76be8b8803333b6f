internal import SluiceSQLite
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What the writer meets at the file, for others to read.
final class WriterTrouble: Sendable {
    private struct State {
        var lockedSince: Timestamp?
        var isWaiting = false
        var pinnedPages = 0
        /// Whether the last erasure that was asked for has left the log empty.
        var isLogErased = false
    }

    private let state = Mutex(State())
    /// Whether a group has met the lock: read for each group, which mostly has not.
    private let isLocked = Atomic(false)
    private let checkpointIsAsked = Atomic(false)
    private let erasureIsAsked = Atomic(false)

    /// The write lock is another connection's, and a group waits for it.
    func waits(since time: Timestamp) {
        state.withLock { state in
            if state.lockedSince == nil { state.lockedSince = time }
            state.isWaiting = true
        }
        isLocked.store(true, ordering: .relaxed)
    }

    /// The group has waited for as long as it was to; whoever has the lock has it still.
    func gaveUp() { state.withLock { $0.isWaiting = false } }

    /// The writer has the lock.
    func hasLock() {
        guard isLocked.load(ordering: .relaxed) else { return }
        isLocked.store(false, ordering: .relaxed)
        state.withLock { state in
            state.lockedSince = nil
            state.isWaiting = false
        }
    }

    /// A checkpoint has left pages of the log where they were.
    func pinned(_ pages: Int) { state.withLock { $0.pinnedPages = pages } }

    /// What was asked for is being done.
    func startCheckpoint() { checkpointIsAsked.store(false, ordering: .relaxed) }

    /// The next upkeep is to copy the log, however short it is.
    func askForCheckpoint() { checkpointIsAsked.store(true, ordering: .releasing) }

    /// The next upkeep is to cut the log to nothing.
    func askForErasure() {
        state.withLock { $0.isLogErased = false }
        erasureIsAsked.store(true, ordering: .releasing)
    }

    /// What was asked for has been tried.
    func erased(_ isErased: Bool) {
        state.withLock { $0.isLogErased = isErased }
        erasureIsAsked.store(false, ordering: .relaxed)
    }

    var isErasureAsked: Bool { erasureIsAsked.load(ordering: .acquiring) }
    var isLogErased: Bool { state.withLock { $0.isLogErased } }

    /// Since when the lock has been in the way, as far as writes have met it.
    var lockedSince: Timestamp? { state.withLock { $0.lockedSince } }
    /// Whether a group waits for the lock now.
    var isWaiting: Bool { state.withLock { $0.isWaiting } }
    var pinnedPages: Int { state.withLock { $0.pinnedPages } }
    var isCheckpointAsked: Bool { checkpointIsAsked.load(ordering: .acquiring) }
}

/// Which processes hold SQLite's locks on a file in WAL mode.
///
/// They are locks on bytes of the shared memory file, which Linux lists in `/proc/locks` (proc(5)). The file
/// itself is not opened: closing it again would drop the locks of this process
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
package struct LockTable: Hashable, Sendable {
    /// Processes that hold the write lock.
    package var writers: [Int] = []
    /// Processes that read a snapshot.
    package var readers: [Int] = []
    /// Processes that hold any lock.
    private(set) var users: [Int] = []

    /// Where SQLite keeps the locks: the write lock at 120, those of readers from 123 to 127
    /// (`walIndex` in <https://www.sqlite.org/walformat.html#locks>).
    private static let writeByte = 120
    private static let readBytes = 123...127

    /// Reads lines such as `1: POSIX  ADVISORY  WRITE 13560 fe:00:5671142 120 120`.
    package init(_ text: String, inode: UInt64) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            // A process that waits for a lock has an arrow in its line, and holds nothing.
            guard words.count == 8, words[1] == "POSIX" || words[1] == "OFDLCK" else { continue }
            guard words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode else { continue }
            guard let pid = Int(words[4]), pid > 0, let first = Int(words[6]) else { continue }
            let last = Int(words[7]) ?? .max
            users.append(pid)
            if words[3] == "WRITE", (first...max(first, last)).contains(Self.writeByte) {
                writers.append(pid)
            }
            if (first...max(first, last)).overlaps(Self.readBytes) { readers.append(pid) }
        }
        writers = Set(writers).sorted()
        users = Set(users).sorted()
        readers = Set(readers).sorted()
    }

    /// The locks on a database, those of this process among them; empty where the system does not tell.
    ///
    /// - Parameter indexPath: The shared memory file.
    package static func read(indexPath: String) -> LockTable {
        #if os(Linux)
        guard let inode = FileFact(indexPath)?.inode else { return LockTable() }
        guard let text = ProcessIdentity.contents(of: "/proc/locks") else { return LockTable() }
        // The system tells a page at a time, and skips a lock where one before it goes meanwhile.
        var table = LockTable(text, inode: inode)
        for _ in 0..<4 {
            guard let again = ProcessIdentity.contents(of: "/proc/locks") else { break }
            let next = LockTable(again, inode: inode)
            if next == table { break }
            table = next
        }
        return table
        #else
        return LockTable()
        #endif
    }

    /// The processes that have a database open; empty where the system does not tell.
    ///
    /// - Parameter indexPath: The shared memory file, which each connection holds a lock on.
    static func users(indexPath: String) -> [Int] {
        guard let inode = FileFact(indexPath)?.inode else { return [] }
        guard let text = ProcessIdentity.contents(of: "/proc/locks") else { return [] }
        return LockTable(text, inode: inode).users
    }

    /// The processes that have a database for themselves, as by `PRAGMA locking_mode = EXCLUSIVE`; empty
    /// where the system does not tell.
    ///
    /// Whoever shares a database in WAL mode has no lock on it that keeps others out.
    package static func owners(path: String) -> [Int] {
        guard let inode = FileFact(path)?.inode else { return [] }
        guard let text = ProcessIdentity.contents(of: "/proc/locks") else { return [] }
        let owners = text.split(separator: "\n").compactMap { line -> Int? in
            let words = line.split(separator: " ")
            guard words.count == 8, words[3] == "WRITE" else { return nil }
            guard words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode else { return nil }
            return Int(words[4])
        }
        return Set(owners).sorted()
    }

    /// The locks on the database of a log.
    static func read(logPath: String) -> LockTable {
        read(indexPath: String(logPath.dropLast("wal".count)) + "shm")
    }

    /// Whether a connection of this process has the write lock.
    var isWriteLockOwn: Bool { writers.contains(Int(getpid())) }

    /// Whether the system tells of locks.
    #if os(Linux)
    static let isKnown = true
    #else
    static let isKnown = false
    #endif

    /// The name of a process's program; `nil` where the system does not tell.
    package static func programName(of process: Int) -> String? {
        #if os(Linux)
        ProcessIdentity.contents(of: "/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        #else
        nil
        #endif
    }

    init() {}
}

/// What the system says about a file without opening it.
struct FileFact {
    let inode: UInt64
    let byteCount: Int

    init?(_ path: some StringProtocol) {
        var status = stat()
        guard stat(String(path), &status) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        byteCount = Int(status.st_size)
    }
}

extension Store {
    func health() async throws(SluiceError) -> BrokerHealth {
        let path: String? = try await location == .memory ? nil : read { $0.logPath }
        let lock = writeLock(logPath: path)
        return BrokerHealth(
            lockedSince: lock.inTheWaySince?.date,
            lockHolders: lock.table.writers,
            logByteCount: path.flatMap { FileFact($0)?.byteCount } ?? 0,
            pinnedPageCount: writer.trouble.pinnedPages,
            readers: lock.table.readers
        )
    }

    /// The reason why nothing can be written, while there is one.
    func lockInTheWay(logPath path: String?) -> Because? {
        // Mostly the writer has met no lock, and nothing is asked of the system.
        guard writer.trouble.lockedSince != nil else { return nil }
        let lock = writeLock(logPath: path)
        return lock.inTheWaySince.map { .locked(since: $0.date, by: lock.table.writers) }
    }

    /// Who holds locks on the file, and since when the write lock has been in the way of writes.
    ///
    /// The writer meets the lock from time to time. In between the system's table says whether it is still
    /// held; where there is none, it counts as held until the writer has had it.
    ///
    /// - Parameter path: The path of the log; `nil` in memory, where nobody is in the way.
    func writeLock(logPath path: String?) -> (inTheWaySince: Timestamp?, table: LockTable) {
        guard let path else { return (nil, LockTable()) }
        let trouble = writer.trouble
        let isLocked = trouble.lockedSince != nil
        var table = LockTable.read(logPath: path)
        // While the writer has met a lock and not had it since, what this process holds is another
        // connection's.
        let own = Int(getpid())
        if !(isLocked && trouble.lockedSince != nil) { table.writers.removeAll { $0 == own } }
        table.readers.removeAll { $0 == own }
        let isHeld = trouble.isWaiting || !LockTable.isKnown || !table.writers.isEmpty
        return (isHeld ? trouble.lockedSince : nil, table)
    }
}
