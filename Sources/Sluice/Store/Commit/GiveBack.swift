internal import SluiceSQLite

/// The write that takes one step.
final class GiveBack: PendingWrite {
    let sync = SyncNeed.later
    private let isUnderWay: Bool
    /// Whether pages were given back, so that there may be more.
    ///
    /// Set and read by the writer's leader alone, as the other is.
    private(set) nonisolated(unsafe) var hasMore = false
    /// Why it failed, if it has.
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
    /// Cuts free pages off the file's end, a step of them.
    ///
    /// The file itself becomes shorter with the next checkpoint.
    ///
    /// - Returns: Whether some were given back.
    fileprivate func giveBackPages(isUnderWay: Bool) throws(SQLiteError) -> Bool {
        let pages = FreeSpace.Pages(
            all: try connection.cached("PRAGMA page_count").first { $0.int(0) } ?? 0,
            free: try freePages()
        )
        let step = FreeSpace.step(pages, isUnderWay: isUnderWay)
        guard step > 0 else { return false }
        try connection.prepare("PRAGMA incremental_vacuum(\(step))").run()
        // It frees nothing where the file is not set up for it.
        return try freePages() < pages.free
    }

    private func freePages() throws(SQLiteError) -> Int {
        try connection.cached("PRAGMA freelist_count").first { $0.int(0) } ?? 0
    }
}
