#if os(Linux)
import Foundation
import Testing

@testable import Sluice

/// The locks that this process holds on a file of queues and on what SQLite keeps beside it.
func heldLocks(on path: String) throws -> [Substring] {
    let inodes = ["", "-wal", "-shm"].compactMap { FileFact(path + $0)?.inode }
    try #require(FileManager.default.isReadableFile(atPath: "/proc/locks"))
    // It is empty when nobody on the machine holds any.
    let table = ProcessIdentity.contents(of: "/proc/locks") ?? ""
    return table.split(separator: "\n").filter { line in
        let words = line.split(separator: " ")
        guard let file = words.first(where: { $0.split(separator: ":").count == 3 }) else { return false }
        let isOurs = words.contains(Substring(String(getpid())))
        return isOurs && inodes.contains { file.hasSuffix(":\($0)") }
    }
}
#endif
