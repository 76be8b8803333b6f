#if CommandLineTool
internal import ArgumentParser

/// Reads the folder of another library's queue, entry by entry and in its order.
struct FolderReader {
    // One of them is set. In an enum, changing a case's value would copy all that it has read.
    private var customerIO: CustomerIOFolder?
    private var cute: CuteFolder?

    /// - Returns: `nil` if the source is not a folder.
    init?(_ source: ImportSource, kind: String?) throws(Failure) {
        switch source {
        case .lines: return nil
        case .customerIO(let path): customerIO = try CustomerIOFolder(path: path)
        case .cute(let path): cute = try CuteFolder(path: path, kind: kind)
        }
    }

    /// The part of the input that has been read.
    var fraction: Double { customerIO?.fraction ?? cute?.fraction ?? 1 }

    /// Returns the next item; `nil` at the end.
    mutating func nextItem() -> FolderItem? {
        customerIO != nil ? customerIO?.nextItem() : cute?.nextItem()
    }
}
#endif
