#if CommandLineTool
internal import Sluice

/// A watch without a screen: a line for each change of a queue's state.
struct WatchLog {
    private var shown: [QueueName: String] = [:]

    /// Returns the lines for the changes since the previous picture.
    mutating func lines(_ picture: WatchPicture, at time: Timestamp, json: Bool) -> [String] {
        var lines: [String] = []
        var states: [QueueName: String] = [:]
        for lane in picture.lanes {
            let queue = lane.status
            // With the reason, so that a further attempt counts as a change.
            let state = "\(queue.state.rawValue) \(queue.firstReason)"
            states[queue.queue] = state
            if shown[queue.queue] == state { continue }
            lines.append(
                Self.line(time, queue.queue, queue.state.rawValue, queue.depth, queue.reason, json: json)
            )
        }
        let gone = shown.keys.filter { states[$0] == nil }.sorted { $0.rawValue < $1.rawValue }
        lines += gone.map { Self.line(time, $0, "drained", 0, "no action is left", json: json) }
        shown = states
        return lines
    }

    private static func line(
        _ time: Timestamp,
        _ queue: QueueName,
        _ state: String,
        _ depth: Int,
        _ because: String,
        json: Bool
    ) -> String {
        guard json else {
            return Visible.text("\(Times.text(time))  \(queue)  \(state)  depth \(depth)  \(because)")
        }
        return JSONText.object([
            ("time", JSONText.string(Times.text(time))), ("queue", JSONText.string(queue.rawValue)),
            ("state", JSONText.string(state)), ("depth", String(depth)),
            ("because", JSONText.string(because)),
        ])
    }
}
#endif
