#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Calls to the disk and allocations that fail at one point of a scenario after the other.
///
/// `SLUICE_FAULT_POINTS` sets how many points there are of each kind, 0 for all; `SLUICE_SEED` chooses them.
/// Of the 180,000 allocations all is ``allocations``: they would take hours.
@Suite("Faults", .watched(minutes: 60)) struct FaultTests {
    private static let points = Reliability.number("SLUICE_FAULT_POINTS", usually: 3, short: 2)
    private static let allocations = 2_000
    private static let kinds = [
        "read", "write", "room", "truncate", "sync", "size", "lock", "map", "map-lock", "open", "delete",
        "access", "memory",
    ]

    @Test(
        """
        G1, G5, G14: a call that fails, once or for a while, is a typed error or tried again; nothing is \
        lost, nothing done twice, and the broker goes on by itself
        """,
        arguments: kinds,
        ["once", "ever"]
    )
    func faults(_ kind: String, _ duration: String) async throws {
        let points = kind == "memory" && Self.points == 0 ? Self.allocations : Self.points
        let told = try await Scenario.run(["faults", kind, duration, "\(points)", "\(Reliability.seed)"])
        #expect(told.status == .exited(0), "\(told.lines) SLUICE_SEED=\(Reliability.seed)")
        #expect(told.violations == [], "SLUICE_SEED=\(Reliability.seed)")
        #expect(told.count > 0)
        Reliability.report("faults, \(kind), \(duration)", told.counts)
    }

    @Test(
        "G1, G14: without memory a value is not read as another, nor stored unsynced, nor refused and stored"
    )
    func memory() async throws {
        let told = try await Scenario.run(["scarce"])
        #expect(told.status == .exited(0), "\(told.lines)")
        #expect(told.violations == [])
        #expect(told.count > 20)
        Reliability.report("memory, at each allocation", told.counts)
    }

    @Test("A system that reads and writes less than it is asked to, and interrupts, harms nothing")
    func shortCalls() async throws {
        let told = try await Scenario.run(["short"])
        #expect(told.status == .exited(0), "\(told.lines)")
        #expect(told.violations == [])
        #expect(told.count > 100)
        Reliability.report("short calls", told.counts)
    }

    #if os(Linux)
    @Test("G14: on a file system that is full again and again nothing is lost, and nothing done twice")
    func fullFileSystem() async throws {
        let place = try TemporaryFile(name: "mount")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        let isMounted = try await system("mount", ["-t", "tmpfs", "-o", "size=3m", "none", place.path])
        guard isMounted else {
            Reliability.report("full file system", "passed over: nothing can be mounted here")
            try Test.cancel("only an administrator may mount a file system")
        }
        let told = try await Scenario.run(["fill", place.path])
        let isUnmounted = try await system("umount", ["-l", place.path])
        #expect(isUnmounted)
        #expect(told.status == .exited(0), "\(told.lines)")
        #expect(told.violations == [])
        #expect(told.counts.contains("diskFull"))
        Reliability.report("full file system", told.counts)
    }

    private func system(_ program: String, _ arguments: [String]) async throws -> Bool {
        let result = try await Subprocess.run(
            .name(program),
            arguments: Arguments(arguments),
            output: .discarded,
            error: .discarded
        )
        return result.terminationStatus == .exited(0)
    }
    #endif
}
#endif
