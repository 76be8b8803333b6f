internal import Synchronization

/// Converts stored payloads to values of a route's type, also from older versions; they stay in the file
/// unchanged, so that an older program can still read them, and a faulty upgrader does no damage.
package final class PayloadReader: Sendable {
    package typealias Upgrader = @Sendable (_ payload: String) throws -> String

    private struct Step {
        let target: Int
        let upgrade: Upgrader
    }

    let coder: PayloadCoder
    /// By kind, then by the version before the step.
    private let steps = Mutex<[String: [Int: Step]]>([:])
    private let changes = Atomic(0)

    init(_ coder: PayloadCoder) { self.coder = coder }
    /// Raised when a route or an upgrader is added, since unreadable payloads may then be readable.
    var revision: Int { changes.load(ordering: .acquiring) }
    package func codeChanged() { changes.add(1, ordering: .acquiringAndReleasing) }

    func add(
        _ kind: String,
        from version: Int,
        to target: Int,
        _ upgrade: @escaping Upgrader
    ) throws(SluiceError) {
        try validateKind(kind)
        try validateVersion(version, of: kind)
        guard version < target else {
            let message = "an upgrader of '\(kind)' from version \(version) does not lead to a later one"
            throw SluiceError(.invalidVersion, message)
        }
        let isNew = steps.withLock { steps in
            guard steps[kind]?[version] == nil else { return false }
            steps[kind, default: [:]][version] = Step(target: target, upgrade: upgrade)
            return true
        }
        guard isNew else {
            let message = "there is an upgrader of '\(kind)' from version \(version) already"
            throw SluiceError(.duplicateUpgrader, message)
        }
    }

    /// Reads a payload as a type, or returns the reason of the failure without the payload (G13).
    func read<A: Action>(
        _ type: A.Type,
        _ payload: String,
        of kind: String,
        version: Int
    ) -> Result<A, Undecodable> {
        let plain: String
        switch coder.open(payload, SealingContext(kind: kind, version: version)) {
        case .failure(let reason): return .failure(reason)
        case .success(let text): plain = text
        }
        guard version != A.version else { return coder.decode(type, from: plain) }
        let current = upgraded(plain, of: kind, from: version, to: A.version)
        return current.flatMap { coder.decode(type, from: $0) }
    }

    /// Reads a payload as a type like ``read(_:_:of:version:)``, unless it is of another kind.
    func read<A: Action>(
        _ type: A.Type,
        _ payload: String,
        ofAnyKind kind: String,
        version: Int
    ) -> Result<A, Undecodable> {
        guard kind == A.kind else { return .undecodable("it is of kind '\(kind)', not '\(A.kind)'") }
        return read(type, payload, of: kind, version: version)
    }

    private func upgraded(
        _ payload: String,
        of kind: String,
        from stored: Int,
        to current: Int
    ) -> Result<String, Undecodable> {
        guard stored < current else {
            return .undecodable("version \(stored) of '\(kind)' is newer than this program's \(current)")
        }
        var (payload, version) = (payload, stored)
        while version < current {
            guard let step = steps.withLock({ $0[kind]?[version] }) else {
                return .undecodable(
                    "no upgrader of '\(kind)' from version \(version), and this program's is \(current)"
                )
            }
            guard step.target <= current else {
                return .undecodable(
                    "the upgrader of '\(kind)' from version \(version) leads to \(step.target), "
                        + "beyond this program's \(current)"
                )
            }
            do {
                payload = try step.upgrade(payload)
            } catch {
                let reason = Undecodable(kind, thrown: error).reason
                return .undecodable("upgrading from version \(version): \(reason)")
            }
            version = step.target
        }
        return .success(payload)
    }
}

extension Undecodable {
    /// Makes the reason without the text of an upgrader's error, which may contain the payload.
    fileprivate init(_ kind: String, thrown error: any Error) {
        switch error {
        case let error as DecodingError: self.init(kind, error)
        case let error as SluiceError: self.init(reason: error.message)
        default: self.init(reason: "the upgrader of '\(kind)' threw \(type(of: error))")
        }
    }
}
