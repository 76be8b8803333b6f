internal import SluiceSQLite

/// The write that cuts one step of free pages off the file.
final class GiveBack: PendingWrite {
    let sync = SyncNeed.later
    private let isUnderWay: Bool
    /// Whether there may be more; set and read only by the writer's leader, like `failure`.
    private(set) nonisolated(unsafe) var hasMore = false
    // Set and read only by the writer's leader.
    private(set) nonisolated(unsafe) var failure: SluiceError?

    init(isUnderWay: Bool) { self.isUnderWay = isUnderWay }

    func perform(in transaction: WriteTransaction) throws {
        hasMore = try transaction.giveBackPages(isUnderWay: isUnderWay)
    }

    func complete() {}

    func complete(failing error: SluiceError) {
        hasMore = false
        failure = error
    }
}

extension WriteTransaction {
    /// Cuts free pages off the file, which the next checkpoint shortens; returns whether any were cut.
    fileprivate func giveBackPages(isUnderWay: Bool) throws(SQLiteError) -> Bool {
        let pages = FreeSpace.Pages(
            all: try connection.cached("PRAGMA page_count").first { $0.int(0) } ?? 0,
            free: try freePages()
        )
        let step = FreeSpace.step(pages, isUnderWay: isUnderWay)
        guard step > 0 else { return false }
        try connection.prepare("PRAGMA incremental_vacuum(\(step))").run()
        // Nothing is freed if the file has no incremental vacuum.
        return try freePages() < pages.free
    }

    private func freePages() throws(SQLiteError) -> Int {
        try connection.cached("PRAGMA freelist_count").first { $0.int(0) } ?? 0
    }
}
