/// Runs the actions of a kind, or of any, in a pattern's queues; a class, as running actions refer to it.
package final class Route: Sendable {
    typealias Perform = @Sendable (ClaimedAction, Attempt) async -> HandlerResult

    package let id: RouteID
    let pattern: QueuePattern
    let kinds: [String?]
    package let options: RouteOptions
    let rate: Admission.Rate?
    /// Decodes the payload and calls the user's code, whose errors are results.
    let perform: Perform

    init(
        id: RouteID,
        pattern: QueuePattern,
        kinds: [String?],
        options: RouteOptions,
        rate: Admission.Rate?,
        perform: @escaping Perform
    ) {
        self.id = id
        self.pattern = pattern
        self.kinds = kinds
        self.options = options
        self.rate = rate
        self.perform = perform
    }
}

func validateVersion(_ version: Int, of kind: String) throws(SluiceError) {
    guard version >= 1 else {
        throw SluiceError(.invalidVersion, "a version of '\(kind)' is \(version); give 1 or more")
    }
}

func validateKind(_ kind: String) throws(SluiceError) {
    guard (1...255).contains(kind.utf8.count) else {
        throw SluiceError(.invalidKind, "a kind has \(kind.utf8.count) bytes of UTF-8; give 1 to 255")
    }
    guard !kind.hasByte(0) else {
        throw SluiceError(.invalidKind, "a kind holds a NUL; give text without one")
    }
}
