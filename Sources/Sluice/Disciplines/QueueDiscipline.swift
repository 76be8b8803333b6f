/// In which order the actions of a queue start, how many at a time, and which ones a failed action blocks.
///
/// A queue's *order* is the same in each: by sort key, then by number. <doc:Disciplines> has the exact rules.
///
/// ```swift
/// try broker.queues("thumbnails/*", QueueOptions(discipline: .lastInFirstOut))
/// try broker.queues("uploads", QueueOptions(discipline: .concurrent(4)))
/// ```
///
/// It is set in code, not in the file: use the same one in all processes that run the queues.
public enum QueueDiscipline: Sendable, Hashable {
    /// One at a time, the first of the order; a waiting head blocks the actions that sort after it (G4).
    case firstInFirstOut
    /// One at a time, the last ready action of the order; waiting actions block no other.
    case lastInFirstOut
    /// Up to a number at a time, started in the order; waiting actions block no other.
    case concurrent(Int)
    /// One at a time in the order, in passes: a failed action is passed over until the next pass, with the
    /// members of the groups that it starts.
    case passOver

    /// The most slots that a queue can have; a claim checks all that are taken.
    public static let maximumSlots = 1_000
}

extension QueueDiscipline {
    /// How many actions run at a time.
    var slots: Int {
        if case .concurrent(let slots) = self { slots } else { 1 }
    }

    /// Whether an action that waits for a time or for its own gate leaves the order until then.
    var setsAside: Bool { self != .firstInFirstOut }

    func validate() throws(SluiceError) {
        guard (1...Self.maximumSlots).contains(slots) else {
            throw SluiceError(
                .invalidOptions,
                "a queue's discipline is concurrent(\(slots)); give 1 to \(Self.maximumSlots)"
            )
        }
    }
}

/// When the actions of a queue may start: see <doc:Disciplines>.
public enum QueueStart: Sendable, Hashable {
    /// As soon as there is an action.
    case atOnce
    /// In batches: when `count` actions wait, or when the oldest is a duration old, whichever is first.
    ///
    /// A started batch continues, with new arrivals, until nothing is left to start. In a queue that passes
    /// over, the rest of a pass is due with the next batch: a duration after the pass ended, or when `count`
    /// other actions have arrived. ``Broker/runNow(_:includingRetries:)`` starts a batch early. Batches save
    /// a device's radio and battery, not the file's work.
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
