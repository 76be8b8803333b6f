internal import Sluice
internal import SystemPackage

/// A process that holds a lock.
struct LockHolder: Hashable {
    let pid: Int
    /// The name of its program; `nil` where the system does not tell.
    let name: String?
}

/// Finds out who holds SQLite's write lock, where the system lists locks: on Linux.
enum LockHolders {
    /// Where the lock of the one writer lies in the file of the log's index
    /// (<https://www.sqlite.org/walformat.html>, 2.3.1).
    private static let writeLockByte = 120

    /// The processes that hold the write lock of WAL mode.
    static func writers(ofIndex path: String) -> [LockHolder] {
        guard let inode = DatabaseFile.identity(of: path)?.inode, let list = text(of: "/proc/locks") else {
            return []
        }
        let pids = list.split(separator: "\n").compactMap { pid(in: $0, inode: inode) }
        return Set(pids).sorted().map { pid in
            let name = text(of: "/proc/\(pid)/comm").map {
                $0.split(separator: "\n").first.map(String.init) ?? ""
            }
            return LockHolder(pid: pid, name: name)
        }
    }

    /// The process of a line such as `1: POSIX  ADVISORY  WRITE 4711 fd:01:1234 120 120`, if it is about the
    /// write lock of a file.
    static func pid(in line: Substring, inode: UInt64) -> Int? {
        let words = line.split(separator: " ")
        // A line of one who waits has an arrow behind the number.
        guard words.count == 8, words[1] == "POSIX", words[3] == "WRITE", let pid = Int(words[4]), pid > 0,
            words[5].split(separator: ":").last.flatMap({ UInt64($0) }) == inode,
            let first = Int(words[6]), let last = words[7] == "EOF" ? Int.max : Int(words[7])
        else { return nil }
        return (first...max(first, last)).contains(writeLockByte) ? pid : nil
    }

    /// Read piece by piece: such files have no size.
    private static func text(of path: String) -> String? {
        guard let descriptor = try? FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
        else {
            return nil
        }
        defer { try? descriptor.close() }
        var bytes: [UInt8] = []
        while true {
            let piece = try? [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                count = try descriptor.read(into: UnsafeMutableRawBufferPointer(buffer))
            }
            guard let piece else { return nil }
            if piece.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += piece
        }
    }
}
