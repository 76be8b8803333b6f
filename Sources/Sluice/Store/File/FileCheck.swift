internal import SluiceSQLite
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Whether a store's file may still be worked on: by this process, at its path, with a schema that is known.
///
/// Once it may not, it never may again: what has gone wrong is not undone by putting the file back, as others
/// may have written elsewhere meanwhile.
final class FileCheck: Sendable {
    /// How long the path is trusted after a look at it.
    static let interval: Duration = .seconds(1)

    private struct State {
        var failure: SluiceError?
        /// The log and its index, while connections are open: nobody makes others meanwhile.
        var besides: [(path: String, identity: DatabaseFile.Identity)] = []
        var onFailure: (@Sendable (SluiceError) -> Void)?
    }

    private let path: String?
    let identity: DatabaseFile.Identity?
    private let forks: Int
    private let hasFailed = Atomic(false)
    private let state = Mutex(State())

    /// - Parameter path: The file, which is there; `nil` in memory.
    init(_ path: String?) {
        ForkCounter.install()
        forks = ForkCounter.current
        self.path = path
        identity = path.flatMap { DatabaseFile.identity(of: $0) }
    }

    /// Whether this is a child of the process that opened the file, which must touch nothing of it.
    var isForked: Bool { ForkCounter.current != forks && !mutant("fork") }

    /// Why nothing can be done with the file any more; mostly `nil`.
    var refusal: SluiceError? {
        if isForked { return Self.forked }
        guard hasFailed.load(ordering: .acquiring) else { return nil }
        return state.withLock { $0.failure }
    }

    /// Throws when nothing can be done with the file any more.
    func ensure() throws(SluiceError) {
        if let refusal { throw refusal }
    }

    /// Throws when nothing can be done with the file any more, as a look at its path may show.
    func look() throws(SluiceError) {
        try ensure()
        guard let path, let identity else { return }
        var status = stat()
        let code = stat(path, &status) == 0 ? 0 : errno
        if code == 0, DatabaseFile.Identity(status) == identity || mutant("replaced file") {
            return try lookBeside()
        }
        // What the system does not tell, for want of a right or a disk that hangs, is not held against the
        // file.
        guard [0, ENOENT, ENOTDIR].contains(code) else { return }
        let isThere = code == 0
        fail(
            SluiceError(
                .fileReplaced,
                "\(path) \(isThere ? "was replaced" : "was renamed or removed") while it was open: close the "
                    + "broker, see to the file and open it again"
            )
        )
        try ensure()
    }

    /// A connection has been opened, and has made the log and its index.
    func connected(walPath: String?) {
        guard let walPath, walPath.hasSuffix("-wal") else { return }
        let paths = [walPath, walPath.dropLast(3) + "shm"]
        state.withLock { state in
            state.besides = paths.compactMap { path in
                DatabaseFile.identity(of: path).map { (path, $0) }
            }
        }
    }

    /// The connections are about to be closed: the last one of all programs takes the log away.
    func disconnects() { state.withLock { $0.besides = [] } }

    private func lookBeside() throws(SluiceError) {
        let lost = state.withLock { state in state.besides.first { Self.fate(of: $0) != .isThere } }
        guard let lost else { return }
        fail(
            SluiceError(
                .fileReplaced,
                "\(lost.path) was removed or replaced while its file was open, so that others write to "
                    + "another WAL: end all programs that use the file, see to it, and open it again"
            )
        )
        try ensure()
    }

    private enum Fate { case isThere, isMissing, isAnother }

    /// What has become of a file; where the system does not tell, nothing.
    private static func fate(of file: (path: String, identity: DatabaseFile.Identity)) -> Fate {
        var status = stat()
        if stat(file.path, &status) == 0 {
            return DatabaseFile.Identity(status) == file.identity ? .isThere : .isAnother
        }
        return errno == ENOENT || errno == ENOTDIR ? .isMissing : .isThere
    }

    /// Whether the log may be copied into the file at the close.
    ///
    /// What it holds is the file's, though its name may have been taken away. Where another stands there by
    /// now, others may have written by it.
    var mayCheckpointWAL: Bool {
        if isForked { return false }
        guard hasFailed.load(ordering: .acquiring) else { return true }
        return state.withLock { state in
            state.failure?.code == .fileReplaced && !state.besides.isEmpty
                && path.flatMap { DatabaseFile.identity(of: $0) } == identity
                && state.besides.allSatisfy { Self.fate(of: $0) != .isAnother }
        }
    }

    /// From now on everything is refused with an error; the first one counts.
    func fail(_ error: SluiceError) {
        let tell = state.withLock { state -> (@Sendable (SluiceError) -> Void)? in
            guard state.failure == nil else { return nil }
            state.failure = error
            return state.onFailure
        }
        hasFailed.store(true, ordering: .releasing)
        tell?(error)
    }

    /// Has somebody told when everything is refused, on some thread, who must not block.
    func onFailure(_ tell: @escaping @Sendable (SluiceError) -> Void) {
        state.withLock { $0.onFailure = tell }
    }

    static let forked = SluiceError(
        .forked,
        "this process is a child of the one that opened the file: open it here, after the fork"
    )
}

extension SluiceError {
    /// Whether no call can succeed after it, as long as the broker is not opened anew.
    var endsBroker: Bool {
        switch code {
        case .closed, .forked, .fileReplaced, .newerSchema: true
        default: false
        }
    }

    /// Whether it tells what has become of the file, for all that use it.
    var isOfFile: Bool { code == .newerSchema || code == .fileReplaced }

    /// Whether it may lie at some rows or pages of the file, and not at the file as a whole.
    var isOfRows: Bool { code == .corrupt || code == .storage || code == .payloadTooLarge }

    /// Whether a broker that runs stops because of it.
    var stopsBroker: Bool { endsBroker && code != .closed }
}
