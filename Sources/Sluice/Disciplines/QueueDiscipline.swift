/// In which order the actions of a queue start, how many at a time, and whom a failed one holds up.
///
/// A queue's *order* is the same in each: by sort key, then by number. <doc:Disciplines> has the exact rules.
///
/// ```swift
/// try broker.queues("thumbnails/*", QueueOptions(discipline: .lastInFirstOut))
/// try broker.queues("uploads", QueueOptions(discipline: .concurrent(4)))
/// ```
///
/// It stands in code and not in the file: give all processes that run the queues the same.
public enum QueueDiscipline: Sendable, Hashable {
    /// One at a time, the first of the order; a head that waits holds up what sorts behind it (G4).
    case firstInFirstOut
    /// One at a time, the last of the order that is ready when the slot frees; what waits holds up nobody.
    case lastInFirstOut
    /// Up to a number at a time, started in the order; what waits holds up nobody.
    case concurrent(Int)
    /// One at a time in the order, in passes: what fails is passed over until the next pass, with the
    /// members of the groups that it starts.
    case passOver

    /// The most slots that a queue can have.
    ///
    /// A claim looks at all that are taken.
    public static let maximumSlots = 1_000
}

extension QueueDiscipline {
    /// How many actions run at a time.
    var slots: Int {
        if case .concurrent(let slots) = self { slots } else { 1 }
    }

    /// Whether an action that waits for a time or a gate of its own leaves the order meanwhile.
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
    /// As soon as there is one.
    case atOnce
    /// In batches: when `count` actions wait, or when the oldest of them was enqueued a duration ago,
    /// whichever is first.
    ///
    /// A batch that has started goes on until nothing is left to start, with what comes meanwhile. In a
    /// queue that passes over, what a pass has left is due with the next batch: a duration after the pass
    /// ended, or when `count` others have come. ``Broker/runNow(_:includingRetries:)`` starts it before
    /// its time. It saves a device's radio and battery, not the file's work.
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
