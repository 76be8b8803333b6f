#if CommandLineTool
internal import Sluice

/// A process that holds a lock.
struct LockHolder: Hashable {
    let pid: Int
    /// The name of its program; `nil` if the system does not report it.
    let name: String?
}
#endif
