#if os(Linux)
internal import Foundation

/// The locks that this process holds on a file of queues and on what SQLite keeps beside it, as `READ 128
/// 128`: the kind, and the first and the last byte.
package func heldLocks(on path: String) throws -> [String] {
    let files = FileManager.default
    let inodes = try ["", "-wal", "-shm"].map { path + $0 }.filter(files.fileExists).map { path in
        try files.attributesOfItem(atPath: path)[.systemFileNumber] as? UInt64
    }
    let ends = inodes.compactMap { $0.map { ":\($0)" } }
    func read() throws -> [String] {
        // It is empty when nobody on the machine holds any.
        try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard let file = words.firstIndex(where: { $0.split(separator: ":").count == 3 }),
                ends.contains(where: words[file].hasSuffix), words[file - 1] == "\(getpid())"
            else { return nil }
            return "\(words[file - 2]) \(words[file + 1]) \(words[file + 2])"
        }
    }
    // The system tells a page at a time, and skips a lock where one before it goes meanwhile.
    var locks = try read()
    for _ in 0..<4 {
        let again = try read()
        if again == locks { break }
        locks = again
    }
    return locks
}
#endif
