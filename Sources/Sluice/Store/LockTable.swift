internal import SQLite
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
        var pinnedPages = 0
    }

    private let state = Mutex(State())

    /// The write lock is another connection's.
    func waits(since time: Timestamp) { state.withLock { $0.lockedSince = time } }

    func waitsNoMore() { state.withLock { $0.lockedSince = nil } }

    /// A checkpoint has left pages of the log where they were.
    func pinned(_ pages: Int) { state.withLock { $0.pinnedPages = pages } }

    var lockedSince: Timestamp? { state.withLock { $0.lockedSince } }
    var pinnedPages: Int { state.withLock { $0.pinnedPages } }
}

/// Which processes hold SQLite's locks on a file in WAL mode.
///
/// They are locks on bytes of the shared memory file, which Linux lists in `/proc/locks` (proc(5)). The file
/// itself is not opened: closing it again would drop the locks of this process
/// (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
struct LockTable: Hashable {
    var writers: [Int] = []
    var readers: [Int] = []

    /// Where SQLite keeps the locks: the write lock at 120, those of readers from 123 to 127
    /// (`walIndex` in <https://www.sqlite.org/walformat.html#locks>).
    private static let writeByte = 120
    private static let readBytes = 123...127

    /// Reads lines such as `1: POSIX  ADVISORY  WRITE 13560 fe:00:5671142 120 120`.
    ///
    /// - Parameter process: This process, which is left out.
    init(_ text: String, inode: UInt64, without process: Int) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            // A process that waits for a lock has an arrow in its line, and holds nothing.
            guard words.count == 8, words[1] == "POSIX" || words[1] == "OFDLCK" else { continue }
            guard words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode else { continue }
            guard let pid = Int(words[4]), pid > 0, pid != process, let first = Int(words[6]) else {
                continue
            }
            let last = Int(words[7]) ?? .max
            if words[3] == "WRITE", (first...max(first, last)).contains(Self.writeByte) {
                writers.append(pid)
            }
            if (first...max(first, last)).overlaps(Self.readBytes) { readers.append(pid) }
        }
        writers = Set(writers).sorted()
        readers = Set(readers).sorted()
    }

    /// The locks of others on the database whose log stands at a path; empty where the system does not tell.
    static func ofOthers(logPath: String) -> LockTable {
        #if os(Linux)
        guard let inode = FileFact(logPath.dropLast("wal".count) + "shm")?.inode else { return LockTable() }
        guard let text = ProcessIdentity.contents(of: "/proc/locks") else { return LockTable() }
        return LockTable(text, inode: inode, without: Int(getpid()))
        #else
        return LockTable()
        #endif
    }

    private init() {}
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
        let locks = path.map(LockTable.ofOthers)
        return BrokerHealth(
            lockedSince: writer.trouble.lockedSince?.date,
            lockHolders: locks?.writers ?? [],
            logByteCount: path.flatMap { FileFact($0)?.byteCount } ?? 0,
            pinnedPageCount: writer.trouble.pinnedPages,
            readers: locks?.readers ?? []
        )
    }
}
