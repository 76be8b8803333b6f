#if CommandLineTool
import Foundation
import Sluice

/// What is shown of a conversation: all of it comes from the file, by way of `statuses`; `select *
/// from sluice_queues` says the same.
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
    ///   - status: The queue as the file has it; `nil` if it is empty.
    ///   - text: The text of its head.
    ///   - hasWorker: Whether a worker lives. The file cannot know that at once: after a kill it still says
    ///     that the dead worker's actions run, until the next worker has put that right.
    init(_ conversation: String, total: Int, status: QueueStatus?, text: String, hasWorker: Bool) {
        self.conversation = conversation
        self.total = total
        done = total - (status?.depth ?? 0)
        guard let status else {
            activity = .done
            return
        }
        guard hasWorker else {
            activity = .waiting(because: "no worker, waits in the file")
            return
        }
        switch status.state {
        case .running:
            activity = .sending(text: text, attempt: status.attempt)
        case .retry:
            activity = .waitingForRetry(
                remaining: max(.seconds(status.blockedUntil?.timeIntervalSinceNow ?? 0), .zero),
                attempts: status.attempt,
                error: status.lastError ?? Self.words(status)
            )
        default:
            activity = .waiting(because: Self.words(status))
        }
    }

    /// The first reason why the queue does not move.
    private static func words(_ status: QueueStatus) -> String {
        status.because.first?.description ?? ""
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
#endif
