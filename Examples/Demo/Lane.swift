import Foundation
import Sluice

/// What is shown of a conversation: all of it comes from the file, by way of `queueSummaries`, the same
/// answer that `select * from sluice_queues` gives.
struct Lane {
    enum Activity {
        case sending(text: String, attempt: Int)
        case waitingForRetry(remaining: Duration, attempts: Int, error: String)
        /// Ready, but it does not run; the file says why.
        case waiting(because: String)
        case done
    }

    var conversation: String
    /// Messages that the file no longer holds.
    var done: Int
    var total: Int
    var activity: Activity
}

extension Lane {
    /// - Parameters:
    ///   - summary: The queue as the file has it; `nil` if it is empty.
    ///   - text: The text of its head.
    ///   - hasWorker: Whether a worker lives. The file cannot know that at once: after a kill it still says
    ///     that the dead worker's actions run, until the next worker has put that right.
    init(_ conversation: String, total: Int, summary: QueueSummary?, text: String, hasWorker: Bool) {
        self.conversation = conversation
        self.total = total
        done = total - (summary?.depth ?? 0)
        guard let summary else {
            activity = .done
            return
        }
        guard hasWorker else {
            activity = .waiting(because: "no worker, waits in the file")
            return
        }
        switch summary.state {
        case "running":
            activity = .sending(text: text, attempt: summary.attempt)
        case "retry":
            activity = .waitingForRetry(
                remaining: Self.time(until: summary.blockedUntil),
                attempts: summary.attempt,
                error: summary.lastError ?? summary.because
            )
        default:
            activity = .waiting(because: summary.because)
        }
    }

    private static func time(until text: String?) -> Duration {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        guard let text, let date = try? style.parse(text) else { return .zero }
        return max(.seconds(date.timeIntervalSinceNow), .zero)
    }
}

/// Everything that a screen shows at one moment.
struct Picture {
    var elapsed: Duration
    var lanes: [Lane]
    /// Which worker lives.
    var worker: Int?
    /// The server's log so far.
    var log: [LogEntry]
    /// What of it is new since the last picture.
    var news: ArraySlice<LogEntry>

    var total: Int { lanes.reduce(0) { $0 + $1.total } }

    func count(_ event: LogEntry.Event) -> Int { log.count { $0.event == event } }
}
