#if !os(Linux) && !canImport(Darwin)
internal import Dispatch

/// A watch that cannot be set, since this system reports no writes to a file: the broker polls.
final class FileWatch: WorkWatch {
    init?(path: String, queue: any WorkQueue, fired: @escaping @Sendable () -> Void) { return nil }

    func arm() -> Bool { false }
    func end(_ ended: @escaping @Sendable () -> Void) { ended() }
}
#endif
