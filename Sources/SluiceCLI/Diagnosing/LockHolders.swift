#if CommandLineTool
internal import Sluice

/// The holders of SQLite's locks on a file, if the system lists locks: on Linux.
struct LockHolders {
    /// Holders of the write lock.
    var writers: [LockHolder] = []
    /// Processes that read a snapshot, and so may keep the WAL from being reset.
    var readers: [LockHolder] = []

    /// Readers that do not run the queues; reads of the others are mostly the engine's own.
    var foreignReaders: [LockHolder] = []

    /// Makes a list without holders.
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
