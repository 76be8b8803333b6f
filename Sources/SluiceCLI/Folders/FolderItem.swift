#if CommandLineTool
internal import Sluice

/// An item of a folder in which another library keeps its queue.
enum FolderItem {
    case entry(FolderEntry)
    /// An entry of the queue that cannot be enqueued.
    case unreadable(name: String, reason: String)
    /// A file that the other library would not run.
    case ignored(name: String, reason: String)
}
#endif
