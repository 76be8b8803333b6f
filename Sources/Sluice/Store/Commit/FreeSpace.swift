/// Decides how many free pages are cut off the file after a backlog was drained (G12).
///
/// The next action reuses a free page, so a file whose size varies a little keeps its pages: cutting them off
/// moves other pages and writes the WAL. Pages are cut off if more than half of the file is free. This is
/// done in steps, each in a transaction of its own between two groups, so that no write waits long.
///
/// A file that an application has created keeps its pages, unless it was created with `auto_vacuum =
/// INCREMENTAL`, as the engine's own files are (<https://www.sqlite.org/pragma.html#pragma_auto_vacuum>).
struct FreeSpace {
    /// Free pages that always remain: 8 MB.
    static let leastPages = 2_048
    /// Pages that one step cuts off: 4 MB.
    static let stepPages = 1_024

    /// The number of pages of the file, and of the free ones among them.
    struct Pages: Equatable {
        let all: Int
        let free: Int
    }

    /// Returns the number of pages to cut off now; 0 if the file keeps its pages.
    ///
    /// Once begun, the steps continue until at most a fifth of the file is free, so that the next action does
    /// not start them again.
    ///
    /// - Parameter isUnderWay: Whether the last step was not enough.
    static func step(_ pages: Pages, isUnderWay: Bool) -> Int {
        guard pages.free > leastPages else { return 0 }
        let isTooMuch = isUnderWay ? pages.free * 5 > pages.all : pages.free * 2 > pages.all
        return isTooMuch ? min(stepPages, pages.free - leastPages) : 0
    }
}
