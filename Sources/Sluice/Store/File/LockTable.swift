#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Lists the processes that hold SQLite's locks on a file in WAL mode.
///
/// They lock bytes of the shared memory file, which Linux lists in `/proc/locks` (proc(5)). The file is not
/// opened: closing it would drop this process's locks (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
package struct LockTable: Hashable, Sendable {
    package var writers: [Int] = []
    /// Processes that read a snapshot.
    package var readers: [Int] = []
    /// Processes that hold any lock.
    private(set) var users: [Int] = []
    /// SQLite's lock bytes (`walIndex` in <https://www.sqlite.org/walformat.html#locks>).
    private static let writeByte = 120
    private static let readBytes = 123...127

    init() {}

    /// Reads lines such as `1: POSIX  ADVISORY  WRITE 13560 fe:00:5671142 120 120`.
    package init(_ text: String, inode: UInt64) {
        for words in Self.locks(in: text, inode) where words[1] == "POSIX" || words[1] == "OFDLCK" {
            guard let pid = Int(words[4]), pid > 0, let first = Int(words[6]) else { continue }
            let bytes = first...max(first, Int(words[7]) ?? .max)
            users.append(pid)
            if words[3] == "WRITE", bytes.contains(Self.writeByte) { writers.append(pid) }
            if bytes.overlaps(Self.readBytes) { readers.append(pid) }
        }
        writers = Set(writers).sorted()
        users = Set(users).sorted()
        readers = Set(readers).sorted()
    }

    private static func locks(in text: String, _ inode: UInt64) -> [[Substring]] {
        let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
        return lines.filter { words in
            // The line of a process that waits for a lock contains an arrow; it holds nothing.
            words.count == 8 && words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode
        }
    }

    /// Reads the locks on a shared memory file, this process's included; empty if the system lists none.
    package static func read(indexPath: String) -> LockTable {
        guard var table = readOnce(indexPath) else { return LockTable() }
        // The system lists one page at a time, and skips a lock if an earlier one is released in between.
        for _ in 0..<4 {
            guard let next = readOnce(indexPath), next != table else { break }
            table = next
        }
        return table
    }

    private static func readOnce(_ path: String) -> LockTable? {
        guard let inode = FileFact(path)?.identity.inode else { return nil }
        return FileFact.contents(ofProc: "/proc/locks").map { LockTable($0, inode: inode) }
    }

    /// Returns the processes that have a database open: each connection locks the shared memory file.
    static func users(indexPath: String) -> [Int] { readOnce(indexPath)?.users ?? [] }

    /// Returns the processes with exclusive access to a database, as by `PRAGMA locking_mode = EXCLUSIVE`.
    package static func owners(path: String) -> [Int] {
        guard let inode = FileFact(path)?.identity.inode else { return [] }
        guard let text = FileFact.contents(ofProc: "/proc/locks") else { return [] }
        return Set(locks(in: text, inode).filter { $0[3] == "WRITE" }.compactMap { Int($0[4]) }).sorted()
    }

    static func read(walPath: String) -> LockTable { read(indexPath: walPath.dropLast("wal".count) + "shm") }
    var isWriteLockOwn: Bool { writers.contains(Int(getpid())) }

    #if os(Linux)
    static let isKnown = true
    #else
    static let isKnown = false
    #endif

    /// Returns the name of a process's program; `nil` if the system does not provide it.
    package static func programName(of process: Int) -> String? {
        FileFact.contents(ofProc: "/proc/\(process)/comm")?.split(separator: "\n").first.map(String.init)
    }
}
