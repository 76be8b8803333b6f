#if CommandLineTool
internal import Sluice

/// The attempts of a handler process, and the lines to send to it.
///
/// A value without locks and tasks; ``HandlerProcess`` carries out its decisions.
struct PendingAttempts {
    typealias Continuation = CheckedContinuation<Outcome, any Error>

    private struct Pending {
        let number: Int
        let request: String
        let continuation: Continuation
        var isSent = false
        /// Ends the process if it does not answer a cancellation.
        var patience: Task<Void, Never>?
    }

    private enum Line {
        case request(Int64)
        case cancellation(Int64)
    }

    private var pending: [Int64: Pending] = [:]
    private var outbox: [Line] = []

    /// Whether there are lines to send.
    var hasLines: Bool { !outbox.isEmpty }

    mutating func add(_ id: Int64, _ number: Int, _ request: String, _ continuation: Continuation) {
        pending[id] = Pending(number: number, request: request, continuation: continuation)
        outbox.append(.request(id))
    }

    /// The next step of a cancellation.
    enum Cancellation {
        /// The attempt had not been sent, and has ended.
        case over(Continuation)
        /// The process is notified, and has some time.
        case told
        /// There is no such attempt.
        case unknown
    }

    mutating func cancel(_ id: Int64, _ patience: Task<Void, Never>) -> Cancellation {
        guard let attempt = pending[id] else { return .unknown }
        guard attempt.isSent else {
            pending[id] = nil
            return .over(attempt.continuation)
        }
        pending[id]?.patience = patience
        outbox.append(.cancellation(id))
        return .told
    }

    /// Returns whether the process works on an attempt.
    func isInWork(_ id: Int64) -> Bool { pending[id]?.isSent == true }

    /// Returns the lines to send, and counts their attempts as sent.
    mutating func takeLines() -> String {
        defer { outbox.removeAll(keepingCapacity: true) }
        var text = ""
        for line in outbox {
            switch line {
            case .request(let id):
                guard let request = pending[id]?.request else { continue }
                pending[id]?.isSent = true
                text += request + "\n"
            case .cancellation(let id):
                guard pending[id] != nil else { continue }
                text += PipeProtocol.cancellation(id) + "\n"
            }
        }
        return text
    }

    /// Ends an attempt that was sent; with a number, only if it is the attempt of that number.
    mutating func finish(_ id: Int64, _ number: Int? = nil) -> Continuation? {
        guard let attempt = pending[id], attempt.isSent else { return nil }
        guard number == nil || number == attempt.number else { return nil }
        pending[id] = nil
        attempt.patience?.cancel()
        return attempt.continuation
    }

    /// Ends every attempt, sent or not.
    mutating func finishAll() -> [Continuation] {
        defer { (pending, outbox) = ([:], []) }
        return pending.values.map { attempt in
            attempt.patience?.cancel()
            return attempt.continuation
        }
    }

    /// Ends every attempt that was sent; the others wait for the next process.
    mutating func finishAllInWork() -> [Continuation] {
        pending.filter { $0.value.isSent }.keys.compactMap { finish($0) }
    }
}
#endif
