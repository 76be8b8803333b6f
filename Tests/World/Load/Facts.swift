import Foundation
import Sluice

/// What acts have made of a line.
struct Facts {
    enum Removal { case none, possible, certain }

    /// By wall clocks, in microseconds since 1970.
    var notBefore: Int64?
    var expiresAt: Int64?
    var gate: GateName?
    var removal = Removal.none
    /// When it was removed for certain.
    var removedAt: Duration = .zero
    /// The least edition that an attempt has, from a time on.
    var edition = 0
    var editedAt: Duration = .zero
    /// The queue where it runs, from a time on.
    var queue: QueueName?
    var movedAt: Duration = .zero
    var mayHaveMoved = false
    var retryNowAt: Duration?
    /// When its handler was told that it is cancelled: unless that succeeds, it never runs again.
    var signalledAt: Duration?

    /// Whether nothing changes its place in the order.
    private(set) var isPlain = true
    private var isEnqueued = false

    /// Adds what an enqueue has; if one whose answer was lost had something else, none is certain.
    mutating func add(_ options: EnqueueOptions) {
        let times = (options.notBefore.map(Self.microseconds), options.expiresAt.map(Self.microseconds))
        notBefore = isEnqueued && notBefore != times.0 ? nil : times.0
        expiresAt = isEnqueued && expiresAt != times.1 ? nil : times.1
        gate = isEnqueued && gate != options.gate ? nil : options.gate
        if times.1 != nil { removal = .possible }
        if times.0 != nil || times.1 != nil || options.gate != nil { isPlain = false }
        isEnqueued = true
    }

    private static func microseconds(_ date: Date) -> Int64 {
        Int64((date.timeIntervalSince1970 * 1_000).rounded()) * 1_000
    }

    mutating func powerLost() {
        if removal == .certain { removal = .possible }
        (edition, queue, signalledAt) = (0, nil, nil)
    }
}
