/// An action whose claim is in the file: its handler may start.
///
/// A class, as it goes from hand to hand.
package final class ClaimedAction: Sendable {
    package let receipt: Receipt
    package let queue: QueueName
    package let kind: String
    package let payload: String
    /// The version of the kind that the payload was stored in.
    package let version: Int
    /// The trace that it was enqueued in, as JSON.
    package let trace: String?
    /// The attempt's number, counted from 1.
    package let number: Int
    /// The random number of the opening that enqueued the action.
    package let nonce: Int64
    package let enqueuedAt: Timestamp
    package let lastError: String?
    /// What its queue has left to start beside it.
    package let room: SlotRoom
    /// It ran when a process died, and is tried with nothing beside it but others of the kind.
    let isTried: Bool
    let route: RouteID

    init(
        receipt: Receipt,
        queue: QueueName,
        kind: String,
        payload: String,
        version: Int,
        trace: String?,
        number: Int,
        nonce: Int64,
        enqueuedAt: Timestamp,
        lastError: String?,
        route: RouteID,
        room: SlotRoom = .single,
        isTried: Bool = false
    ) {
        self.route = route
        self.room = room
        self.isTried = isTried
        self.receipt = receipt
        self.queue = queue
        self.kind = kind
        self.payload = payload
        self.version = version
        self.trace = trace
        self.number = number
        self.nonce = nonce
        self.enqueuedAt = enqueuedAt
        self.lastError = lastError
    }
}
