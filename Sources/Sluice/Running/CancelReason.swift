/// Why a handler is cancelled.
package enum CancelReason: Sendable {
    /// Its attempt took longer than its route allows.
    case timeout
    /// The broker stops.
    case stop
    /// Its action was cancelled or deleted.
    case removal
    /// Another process took this one for dead: the claim is not valid any more.
    case takenOver
}
