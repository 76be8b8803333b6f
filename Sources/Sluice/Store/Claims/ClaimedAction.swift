/// An action whose claim is in the file; a class, since many functions pass it on.
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
    package let room: SlotRoom
    /// Whether it is a suspect on trial, and runs beside nothing but other suspects.
    let isTried: Bool
    package let route: RouteID

    package init(
        receipt: Receipt,
        queue: QueueName,
        kind: String,
        version: Int,
        payload: String,
        trace: String?,
        number: Int,
        nonce: Int64,
        enqueuedAt: Timestamp,
        lastError: String?,
        route: RouteID,
        isTried: Bool
    ) {
        (self.receipt, self.route, self.room, self.isTried) = (receipt, route, .single, isTried)
        (self.queue, self.kind, self.payload, self.version) = (queue, kind, payload, version)
        (self.trace, self.nonce, self.enqueuedAt) = (trace, nonce, enqueuedAt)
        (self.number, self.lastError) = (number, lastError)
    }

    init(_ row: HeadRow, _ receipt: Receipt, _ route: RouteID, _ room: SlotRoom, isTried: Bool) {
        (self.receipt, self.route, self.room, self.isTried) = (receipt, route, room, isTried)
        (queue, kind, payload, version) = (row.queue, row.kind, row.payload, row.version)
        (trace, nonce, enqueuedAt) = (row.trace, row.nonce, row.enqueuedAt)
        (number, lastError) = (row.attempts + 1, row.lastError)
    }
}
