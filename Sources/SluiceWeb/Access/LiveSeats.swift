#if Web
internal import Synchronization

/// The live updates that are sent at the same time: each keeps a connection for as long as somebody looks.
final class LiveSeats: Sendable {
    /// The most in all; with more, the oldest of the session that has the most ends.
    let limit: Int
    /// The most of a session, and of all requests without one together.
    let holderLimit: Int

    private struct Memory: Sendable {
        /// The holders of the seats by their numbers, which rise.
        var holders: [Int: String] = [:]
        var last = 0
    }

    private let memory = Mutex(Memory())

    init(limit: Int = 96, holderLimit: Int = 12) { (self.limit, self.holderLimit) = (limit, holderLimit) }

    /// One of them, until it is released.
    final class Seat: Sendable {
        private let number: Int
        private let seats: LiveSeats

        fileprivate init(_ number: Int, _ seats: LiveSeats) { (self.number, self.seats) = (number, seats) }

        deinit { seats.memory.withLock { $0.holders[number] = nil } }

        /// Whether no newer one has taken its place.
        var isKept: Bool { seats.memory.withLock { $0.holders[number] != nil } }
    }

    /// Takes a seat, which always succeeds.
    ///
    /// - Parameter holder: The session, or the empty text for a request without one.
    func take(_ holder: String) -> Seat {
        memory.withLock { memory in
            var counts: [String: Int] = [:]
            for holder in memory.holders.values { counts[holder, default: 0] += 1 }
            let isFull = memory.holders.count >= limit
            let largest = counts.max { $0.value < $1.value }?.key
            let leaving = counts[holder, default: 0] >= holderLimit ? holder : isFull ? largest : nil
            if let oldest = memory.holders.filter({ $0.value == leaving }).keys.min() {
                memory.holders[oldest] = nil
            }
            memory.last += 1
            memory.holders[memory.last] = holder
            return Seat(memory.last, self)
        }
    }
}
#endif
