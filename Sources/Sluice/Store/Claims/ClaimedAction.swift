/// An action whose claim is in the file: its handler may start.
///
/// It is a class, since many functions pass it on.
package final class ClaimedAction: Sendable {
    package let receipt: Receipt
    package let queue: QueueName
    package let kind: String
    package let payload: String
    /// The payload's version of the kind.
    package let version: Int
    /// The trace in which it was enqueued, as JSON.
    package let trace: String?
    /// The attempt's number, counted from 1.
    package let number: Int
    /// The random number of the opening that enqueued the action.
    package let nonce: Int64
    package let enqueuedAt: Timestamp
    package let lastError: String?
    /// The slots that its queue has left.
    package let room: SlotRoom
    /// Whether it is a suspect on trial, and runs beside nothing but other suspects.
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
