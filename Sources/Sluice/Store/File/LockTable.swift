#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Lists the processes that hold SQLite's locks on a file in WAL mode.
///
/// They lock bytes of the shared memory file, which Linux lists in `/proc/locks` (proc(5)). The file itself
/// is not opened: closing it again would drop this process's locks
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
package struct LockTable: Hashable, Sendable {
    /// Processes that hold the write lock.
    package var writers: [Int] = []
    /// Processes that read a snapshot.
    package var readers: [Int] = []
    /// Processes that hold any lock.
    private(set) var users: [Int] = []

    /// SQLite's lock bytes: the write lock at 120, those of readers from 123 to 127 (`walIndex` in
    /// <https://www.sqlite.org/walformat.html#locks>).
    private static let writeByte = 120
    private static let readBytes = 123...127

    /// Reads lines such as `1: POSIX  ADVISORY  WRITE 13560 fe:00:5671142 120 120`.
    package init(_ text: String, inode: UInt64) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            // The line of a process that waits for a lock contains an arrow; it holds nothing.
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

    /// Reads the locks on a database, this process's included; empty if the system does not list them.
    ///
    /// - Parameter indexPath: The shared memory file.
    package static func read(indexPath: String) -> LockTable {
        #if os(Linux)
        guard let inode = FileFact(indexPath)?.inode else { return LockTable() }
        guard let text = ProcFile.contents(of: "/proc/locks") else { return LockTable() }
        // The system lists one page at a time, and skips a lock if an earlier one is released in between.
        var table = LockTable(text, inode: inode)
        for _ in 0..<4 {
            guard let again = ProcFile.contents(of: "/proc/locks") else { break }
            let next = LockTable(again, inode: inode)
            if next == table { break }
            table = next
        }
        return table
        #else
        return LockTable()
        #endif
    }

    /// Returns the processes that have a database open; empty if the system does not list them.
    ///
    /// - Parameter indexPath: The shared memory file, on which each connection holds a lock.
    static func users(indexPath: String) -> [Int] {
        guard let inode = FileFact(indexPath)?.inode else { return [] }
        guard let text = ProcFile.contents(of: "/proc/locks") else { return [] }
        return LockTable(text, inode: inode).users
    }

    /// Returns the processes with exclusive access to a database, as by `PRAGMA locking_mode = EXCLUSIVE`.
    ///
    /// It is empty if the system does not list them. A process that shares a database in WAL mode has no lock
    /// on it that excludes others.
    package static func owners(path: String) -> [Int] {
        guard let inode = FileFact(path)?.inode else { return [] }
        guard let text = ProcFile.contents(of: "/proc/locks") else { return [] }
        let owners = text.split(separator: "\n").compactMap { line -> Int? in
            let words = line.split(separator: " ")
            guard words.count == 8, words[3] == "WRITE" else { return nil }
            guard words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode else { return nil }
            return Int(words[4])
        }
        return Set(owners).sorted()
    }

    /// Reads the locks on the database of a WAL.
    static func read(walPath: String) -> LockTable {
        read(indexPath: String(walPath.dropLast("wal".count)) + "shm")
    }

    /// Whether a connection of this process has the write lock.
    var isWriteLockOwn: Bool { writers.contains(Int(getpid())) }

    /// Whether the system lists locks.
    #if os(Linux)
    static let isKnown = true
    #else
    static let isKnown = false
    #endif

    /// Returns the name of a process's program; `nil` if the system does not provide it.
    package static func programName(of process: Int) -> String? {
        #if os(Linux)
        ProcFile.contents(of: "/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
        #else
        nil
        #endif
    }

    init() {}
}
