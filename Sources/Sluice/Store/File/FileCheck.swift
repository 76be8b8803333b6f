internal import SluiceSQLite
internal import Synchronization

/// Checks whether a store may still use its file: in this process, at its path, with a known schema; a
/// failure is permanent, since others may have written elsewhere before the file was put back.
final class FileCheck: Sendable {
    /// How long the path is trusted after a check.
    static let interval: Duration = .seconds(1)

    private struct State {
        var failure: SluiceError?
        /// The WAL and its index, which no process replaces while connections are open.
        var besides: [(path: String, identity: DatabaseFile.Identity)] = []
        var onFailure: (@Sendable (SluiceError) -> Void)?
    }

    private let path: String?
    let identity: DatabaseFile.Identity?
    private let forks: Int
    private let hasFailed = Atomic(false)
    private let state = Mutex(State())

    /// - Parameter path: The path of the existing file; `nil` in memory.
    init(_ path: String?) {
        ForkCounter.install()
        forks = ForkCounter.current
        self.path = path
        identity = path.flatMap { DatabaseFile.identity(of: $0) }
    }

    /// Whether this is a child of the process that opened the file; it must not use the file.
    var isForked: Bool { ForkCounter.current != forks && !mutant("fork") }

    var refusal: SluiceError? {
        if isForked { return Self.forked }
        guard hasFailed.load(ordering: .acquiring) else { return nil }
        return state.withLock { $0.failure }
    }

    func ensure() throws(SluiceError) { if let refusal { throw refusal } }

    /// Checks the file's path, and throws if the file cannot be used any more.
    func look() throws(SluiceError) {
        try ensure()
        guard let path, let identity else { return }
        let fate = identity.fate(at: path)
        // If the system gives no answer, for want of a right or since a disk hangs, the file is not blamed.
        if fate == .isUnknown { return }
        if fate == .isThere || fate == .isAnother && mutant("replaced file") { return try lookBeside() }
        let event = fate == .isAnother ? "was replaced" : "was renamed or removed"
        try refuse("\(path) \(event) while it was open: close the broker, check the file and open it again")
    }

    private func lookBeside() throws(SluiceError) {
        let lost = state.withLock { state in
            state.besides.first { [.isMissing, .isAnother].contains($0.identity.fate(at: $0.path)) }
        }
        guard let lost else { return }
        try refuse(
            "\(lost.path) was removed or replaced while its file was open, so that others write to "
                + "another WAL: end all programs that use the file, check it, and open it again"
        )
    }

    private func refuse(_ message: String) throws(SluiceError) {
        fail(SluiceError(.fileReplaced, message))
        try ensure()
    }

    /// Remembers the WAL and its index, which an opened connection has created.
    func connected(walPath: String?) {
        guard let walPath, walPath.hasSuffix("-wal") else { return }
        let paths = [walPath, walPath.dropLast(3) + "shm"]
        state.withLock { state in
            state.besides = paths.compactMap { path in DatabaseFile.identity(of: path).map { (path, $0) } }
        }
    }

    /// Forgets the WAL and its index before a close, in which the last connection deletes them.
    func disconnects() { state.withLock { $0.besides = [] } }

    /// Whether the WAL may be copied into the file at the close: its contents belong to the file even if its
    /// name was deleted, but if another WAL has that name, others may have written through it.
    var mayCheckpointWAL: Bool {
        if isForked { return false }
        guard hasFailed.load(ordering: .acquiring) else { return true }
        return state.withLock { state in
            state.failure?.code == .fileReplaced && !state.besides.isEmpty
                && path.flatMap { DatabaseFile.identity(of: $0) } == identity
                && state.besides.allSatisfy { $0.identity.fate(at: $0.path) != .isAnother }
        }
    }

    /// Refuses everything from now on with an error; the first one counts.
    func fail(_ error: SluiceError) {
        let tell = state.withLock { state -> (@Sendable (SluiceError) -> Void)? in
            guard state.failure == nil else { return nil }
            state.failure = error
            return state.onFailure
        }
        hasFailed.store(true, ordering: .releasing)
        tell?(error)
    }

    /// Sets a function that is called when everything is refused, on some thread, which it must not block.
    func onFailure(_ tell: @escaping @Sendable (SluiceError) -> Void) {
        state.withLock { $0.onFailure = tell }
    }

    static let forked = SluiceError(
        .forked,
        "this process is a child of the one that opened the file: open it here, after the fork"
    )
}

extension SluiceError {
    /// Whether no call can succeed after it until the broker is opened again.
    var endsBroker: Bool { [.closed, .forked, .fileReplaced, .newerSchema].contains(code) }
    var isOfFile: Bool { code == .newerSchema || code == .fileReplaced }
    /// Whether it may concern some rows or pages of the file, not the file as a whole.
    var isOfRows: Bool { code == .corrupt || code == .storage || code == .payloadTooLarge }
    var stopsBroker: Bool { endsBroker && code != .closed }
}
