internal import SluiceSQLite

/// Gives the file's free pages back after a backlog was drained (G12).
///
/// A page that is free is used again by the next action, so a file that breathes a little keeps what it has:
/// giving pages back moves others and writes the log. What is given back is what a backlog has left: free
/// pages that are more than half of the file. They go a step at a time, each in a transaction of its own
/// between two groups, so that no write waits long.
///
/// A file that an application has created keeps its pages, unless that has asked for
/// `auto_vacuum = INCREMENTAL`, as we do in a file of our own
/// (<https://www.sqlite.org/pragma.html#pragma_auto_vacuum>).
struct FreeSpace {
    /// Free pages that are always left: 8 MB.
    static let leastPages = 2_048
    /// Pages that one step gives back: 4 MB.
    static let stepPages = 1_024

    /// The file's pages, all of them and those that are free.
    struct Pages: Equatable {
        let all: Int
        let free: Int
    }

    /// Pages to give back now; 0 when the file is to keep what it has.
    ///
    /// Once begun it goes on until a fifth of the file is free, so that the next action does not begin it
    /// anew.
    ///
    /// - Parameter isUnderWay: Whether the last step was not enough.
    static func step(_ pages: Pages, isUnderWay: Bool) -> Int {
        guard pages.free > leastPages else { return 0 }
        let isTooMuch = isUnderWay ? pages.free * 5 > pages.all : pages.free * 2 > pages.all
        return isTooMuch ? min(stepPages, pages.free - leastPages) : 0
    }
}

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
