#if CommandLineTool
internal import Sluice

/// A process that holds a lock.
struct LockHolder: Hashable {
    let pid: Int
    /// The name of its program; `nil` where the system does not tell.
    let name: String?
}

/// Who holds SQLite's locks on a file, where the system lists locks: on Linux.
struct LockHolders {
    /// Those of the write lock.
    var writers: [LockHolder] = []
    /// Those that read a snapshot, and so may keep the log from beginning anew.
    var readers: [LockHolder] = []

    /// Those that read and do not run the queues: what these read is mostly the engine's own.
    var foreignReaders: [LockHolder] = []

    /// Nobody.
    init() {}

    init(_ facts: FileFacts) {
        let table = LockTable.read(indexPath: facts.indexPath)
        func named(_ pids: [Int]) -> [LockHolder] {
            pids.map { LockHolder(pid: $0, name: LockTable.programName(of: $0)) }
        }
        if facts.isWriteLockHeld { writers = named(table.writers) }
        // This process has closed the file.
        readers = named(table.readers)
        let runners = Set(facts.runners.filter { !$0.isDead }.map { Int($0.pid) })
        foreignReaders = readers.filter { !runners.contains($0.pid) }
    }
}
#endif
