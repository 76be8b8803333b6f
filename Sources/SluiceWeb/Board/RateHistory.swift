#if Web
internal import Foundation
internal import Sluice
internal import Synchronization

/// Rates and ages over the last ten minutes.
final class RateHistory: Sendable {
    /// What happened in one interval.
    struct Sample: Sendable {
        /// Actions a second.
        var enqueued: Double
        /// Actions a second that succeeded, became dead letters or were removed.
        var ended: Double
        /// The age of the oldest action in a queue that runs or could run, in seconds.
        var age: Double
    }

    /// The time between two samples.
    static let interval: Duration = .seconds(5)
    private static let limit = 120

    private struct Memory: Sendable {
        var samples: [Sample] = []
        var enqueued: Int64 = 0
        var ended: Int64 = 0
        var last: (enqueued: Int64, ended: Int64, time: ContinuousClock.Instant)?
    }

    private let memory = Mutex(Memory())

    var samples: [Sample] { memory.withLock { $0.samples } }

    /// Counts the events of a broker until the task is cancelled.
    func count(_ broker: Broker) async {
        for await event in broker.events(buffering: .latest(100_000)) {
            guard case .event(let event) = event else { continue }
            switch event.kind {
            case .enqueued: memory.withLock { $0.enqueued += 1 }
            case .succeeded, .deadLettered, .removed: memory.withLock { $0.ended += 1 }
            default: break
            }
        }
    }

    /// Takes over totals that somebody else has counted.
    func set(enqueued: Int64, waiting: Int) {
        memory.withLock { ($0.enqueued, $0.ended) = (enqueued, enqueued - Int64(waiting)) }
    }

    /// Ends an interval.
    func sample(age: Duration?) {
        let now = ContinuousClock.now
        memory.withLock { memory in
            if let last = memory.last {
                let seconds = max(last.time.duration(to: now) / .seconds(1), 0.001)
                memory.samples.append(
                    Sample(
                        enqueued: Double(max(memory.enqueued - last.enqueued, 0)) / seconds,
                        ended: Double(max(memory.ended - last.ended, 0)) / seconds,
                        age: (age ?? .zero) / .seconds(1)
                    )
                )
                if memory.samples.count > Self.limit { memory.samples.removeFirst() }
            }
            memory.last = (memory.enqueued, memory.ended, now)
        }
    }
}
#endif
