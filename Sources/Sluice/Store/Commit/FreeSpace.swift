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
