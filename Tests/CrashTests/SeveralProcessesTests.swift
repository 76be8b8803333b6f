#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// One kill and one freeze at a fixed moment, in seconds: what goes wrong here is found at each `swift test`,
/// and `ProcessHistoryTests` looks for what only a longer and random course brings.
@Suite("A kill and a freeze among several processes", .watched(minutes: 3))
struct SeveralProcessesTests {
    private let site: WorkerSite

    init() throws { site = try WorkerSite() }

    @Test(
        "G2, G3, G7: three processes share the queues; what the killed one ran goes on, and nothing is lost"
    )
    func killed() async throws {
        let ids = try await site.enqueue(600, lanes: 12)
        let (victim, others) = (WorkerSite.Worker(), [WorkerSite.Worker(), WorkerSite.Worker()])
        try await withThrowingTaskGroup(of: TerminationStatus.self) { group in
            // Alone it would take half a minute: it is not through by its kill, however busy the machine is.
            group.addTask {
                try await site.run(victim, "victim", lease: 30_000, until: "stop", pause: 200)
            }
            // The others could have run everything before it begins.
            _ = try await victim.lines.wait(forCount: 1)
            for (number, other) in others.enumerated() {
                group.addTask { try await site.run(other, "other\(number)", lease: 30_000, until: "idle") }
            }
            _ = try await victim.lines.wait(forCount: 20)
            let pid = try await victim.process.wait(forCount: 1)[0]
            try #require(kill(pid.value, SIGKILL) == 0)
            let start = ContinuousClock.now
            var statuses: [TerminationStatus] = []
            for try await status in group { statuses.append(status) }
            #expect(Set(statuses) == [.exited(0), .signaled(SIGKILL)])
            // Its lease would have held them up for longer.
            #expect(start.duration(to: .now) < .seconds(25))
        }
        let history = try WorkLog(site.log)
        history.check(lost: "victim", hasDied: true)
        #expect(history.ended == ids)
        #expect(history.ran("other0") + history.ran("other1") > 0)
        try await site.expectEmpty()
    }

    #if os(Linux)
    @Test(
        "G3, G6: a process that is frozen beyond its lease settles nothing, and goes on when it is continued"
    )
    func frozen() async throws {
        let ids = try await site.enqueue(400, lanes: 8)
        let (victim, other) = (WorkerSite.Worker(), WorkerSite.Worker())
        async let victimStatus = site.run(victim, "victim", lease: 600, until: "stop")
        _ = try await victim.lines.wait(forCount: 20)
        let pid = try await victim.process.wait(forCount: 1)[0]
        try await site.freeze(pid.value)
        // All of it is run by another one, which begins while the lease stands.
        #expect(try await site.run(other, "other", lease: 30_000, until: "idle") == .exited(0))
        try await site.expectEmpty()
        try #require(kill(pid.value, SIGCONT) == 0)
        // It takes part again: this is for it alone.
        let broker = try await Broker(file: site.file.path)
        let last = try await broker.enqueue(Job(lane: 0, isPoison: true)).id
        await broker.close()
        #expect(try await victimStatus == .exited(0))

        let history = try WorkLog(site.log)
        history.check(lost: "victim", hasDied: false)
        #expect(history.ended == ids.union([Int(last.rawValue)]))
        let told = victim.lines.elements.last?.split(separator: " ")
        #expect(told?.first == "stale")
        // What ran when it was frozen, if anything did.
        let stale = history.abandoned(by: "victim")
        #expect(told?.last.flatMap { Int($0) } == stale)
        try await site.expectEmpty()
    }
    #endif
}
#endif
