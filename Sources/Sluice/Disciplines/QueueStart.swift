/// When the actions of a queue may start: see <doc:Disciplines>.
public enum QueueStart: Sendable, Hashable {
    /// As soon as there is an action.
    case immediately
    /// In batches: when `count` actions wait, or when the oldest is a duration old, whichever is first.
    ///
    /// A started batch continues, with new arrivals, until nothing is left to start. In a queue that passes
    /// over, the rest of a pass is due with the next batch. ``Broker/runNow(_:includingRetries:)`` starts a
    /// batch early. Batches save a device's radio and battery, not the file's work.
    case batch(count: Int = 10, after: Duration = .seconds(30))

    func validate() throws(SluiceError) {
        guard case .batch(let count, let delay) = self else { return }
        guard count >= 1, delay >= .zero else {
            throw SluiceError(
                .invalidOptions,
                "a queue runs in batches of \(count) after \(delay); give 1 action or more, and a delay of "
                    + "zero or more"
            )
        }
    }
}
