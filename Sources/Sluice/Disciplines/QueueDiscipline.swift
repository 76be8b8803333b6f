/// In which order the actions of a queue start, how many at a time, and which ones a failed action blocks.
///
/// ```swift
/// try broker.configure("uploads", QueueOptions(discipline: .concurrent(4)))
/// ```
///
/// A queue's *order* is the same in each: by sort key, then by number. <doc:Disciplines> has the exact rules.
/// It is set in code, not in the file: use the same one in all processes that run the queues.
public enum QueueDiscipline: Sendable, Hashable {
    /// One at a time, the first of the order; a waiting head blocks the actions that sort after it (G4).
    case firstInFirstOut
    /// One at a time, the last ready action of the order; waiting actions block no other.
    case lastInFirstOut
    /// Up to a number at a time, started in the order; waiting actions block no other.
    case concurrent(Int)
    /// One at a time in the order, in passes that pass over a failed action and the members of its groups.
    case passOver
    /// The most slots that a queue can have; a claim checks all that are taken.
    public static let maximumSlots = 1_000
    package var slots: Int { if case .concurrent(let slots) = self { slots } else { 1 } }
    /// Whether an action that waits for a time or for its own gate leaves the order until then.
    var defersWaiting: Bool { self != .firstInFirstOut }

    func validate() throws(SluiceError) {
        guard (1...Self.maximumSlots).contains(slots) else {
            let message = "a queue's discipline is concurrent(\(slots)); give 1 to \(Self.maximumSlots)"
            throw SluiceError(.invalidOptions, message)
        }
    }
}
