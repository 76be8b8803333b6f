internal import SluiceSQLite

/// Decides how many free pages are cut off the file after a backlog was drained (G12).
///
/// The next action reuses a free page, so pages are cut off only if more than half of the file is free, and
/// at least a step of them: it moves other pages and writes the WAL. Each step is a transaction of its own,
/// so that no write waits long, neither here nor in another process.
///
/// A file of an application keeps its pages, unless it was created with `auto_vacuum = INCREMENTAL`, as ours
/// are (<https://www.sqlite.org/pragma.html#pragma_auto_vacuum>).
struct FreeSpace {
    /// Free pages that always remain: 8 MB.
    static let leastPages = 2_048
    /// Pages that one step cuts off: 1 MB.
    static let stepPages = 256

    /// Returns the number of pages to cut off now; once under way, until at most a fifth of the file is free.
    static func step(free: Int, of all: Int, isUnderWay: Bool) -> Int {
        let spare = free - leastPages
        guard spare >= (isUnderWay ? 1 : stepPages), free * (isUnderWay ? 5 : 2) > all else { return 0 }
        return min(stepPages, spare)
    }
}

extension WriteTransaction {
    /// Cuts free pages off the file, which the next checkpoint shortens; returns whether any were cut.
    func giveBackPages(isUnderWay: Bool) throws(SQLiteError) -> Bool {
        let all = try connection.cached("PRAGMA page_count").first { $0.int(0) } ?? 0
        let free = try freePages()
        let step = FreeSpace.step(free: free, of: all, isUnderWay: isUnderWay)
        guard step > 0 else { return false }
        try connection.prepare("PRAGMA incremental_vacuum(\(step))").run()
        // Nothing is freed if the file has no incremental vacuum.
        return try freePages() < free
    }

    private func freePages() throws(SQLiteError) -> Int {
        try connection.cached("PRAGMA freelist_count").first { $0.int(0) } ?? 0
    }
}
