#if CommandLineTool
internal import Sluice

/// Makes pictures from reads of the file: rates need two of them.
struct WatchEye {
    private var depths: [QueueName: Int] = [:]
    private var last: ActionID?
    private var lastTime: ContinuousClock.Instant?
    private var actionCount = 0
    private let pattern: QueuePattern

    /// Further queues are not read; these use about a gigabyte for names and reasons.
    private static let limit = 1_000_000

    init(_ pattern: QueuePattern) {
        self.pattern = pattern
    }

    /// Reads the file.
    mutating func look(_ broker: Broker, at now: ContinuousClock.Instant) async throws -> WatchPicture {
        let arrivals = try await broker.engine.newActions(since: last)
        let queues = try await broker.statuses(matching: pattern, in: nil, limit: Self.limit)
        var picture = picture(queues, arrivals, now)
        picture.runners = try await broker.engine.runnerNames()
        return picture
    }

    /// Makes a picture; actions that arrived and ended between two reads are not counted.
    mutating func picture(
        _ queues: [QueueStatus],
        _ arrivals: Arrivals,
        _ now: ContinuousClock.Instant
    ) -> WatchPicture {
        let seconds = lastTime.map { max($0.duration(to: now) / .seconds(1), 0.001) }
        var picture = WatchPicture()
        var newDepths: [QueueName: Int] = [:]
        var arrived = 0
        for queue in queues {
            var lane = WatchPicture.Lane(status: queue)
            let came = arrivals.counts[queue.queue] ?? 0
            if let seconds {
                lane.rateIn = Double(came) / seconds
                lane.rateOut = Double(max((depths[queue.queue] ?? 0) + came - queue.depth, 0)) / seconds
            }
            arrived += came
            newDepths[queue.queue] = queue.depth
            picture.states[queue.state, default: 0] += 1
            picture.actionCount += queue.depth
            picture.lanes.append(lane)
        }
        if let seconds, let last {
            // If all queues are read, count all numbers that were assigned.
            let came = pattern == .all ? Int(arrivals.last.rawValue - last.rawValue) : arrived
            picture.rateIn = Double(came) / seconds
            picture.rateOut = Double(max(actionCount + came - picture.actionCount, 0)) / seconds
        }
        picture.lanes.sort { QueueOrder.trouble.isBefore($0.status, $1.status) }
        (depths, last, lastTime, actionCount) = (newDepths, arrivals.last, now, picture.actionCount)
        return picture
    }
}
#endif
