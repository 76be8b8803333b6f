import Foundation
import Sluice
import TestSupport

/// A process that runs queues beside others.
struct Worker {
    let file: String
    let log: Log
    /// How many handlers it runs at once.
    let permits: Int
    /// What each of them takes: the more of it is under way when a signal comes.
    let pause: Duration

    /// `work FILE LOG NAME LEASE idle|stop PERMITS PAUSE`: runs the queues until nothing is left, or until it
    /// runs poison.
    ///
    /// LEASE and PAUSE are in milliseconds. LOG gets a line at the start and at the end of each handler,
    /// `NAME start LANE ID ATTEMPT`; standard output gets the number of each action that was run, and at the
    /// end how many outcomes were stale.
    func work(lease: Duration, untilIdle: Bool) async throws {
        var options = BrokerOptions.silent
        options.file.leases.length = lease
        options.file.leases.renewal = lease / 3
        options.file.leases.watch = .milliseconds(200)
        options.concurrency = permits
        // So few that processes write the order behind while others run.
        options.file.writeBehind.newest = 32
        options.file.writeBehind.batch = 16
        let clock = SystemClock()
        let broker = try await Broker(file: file, options: options)
        let (stopping, stop) = AsyncStream.makeStream(of: Void.self)
        try broker.route("lane/*", Job.self, RouteOptions(retry: .fixed(.milliseconds(20)))) {
            job,
            attempt in
            try log.append("start \(job.lane) \(attempt.id) \(attempt.number)")
            if pause > .zero { try await clock.sleep(untilUptime: clock.uptime + pause) }
            try log.append("end \(job.lane) \(attempt.id) \(attempt.number)")
            try FileHandle.standardOutput.write(contentsOf: Data("\(attempt.id)\n".utf8))
            if job.isPoison { stop.finish() }
            // Each tenth action is tried twice.
            return attempt.number == 1 && attempt.id.rawValue % 10 == 0 ? .retry : .success
        }
        try await broker.run {
            if untilIdle {
                await broker.waitUntilIdle()
            } else {
                for await _ in stopping {}
            }
        }
        let stale = broker.statistics.staleCompletions
        try FileHandle.standardOutput.write(contentsOf: Data("stale \(stale)\n".utf8))
        await broker.close()
    }
}
