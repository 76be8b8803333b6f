#if CommandLineTool
import Foundation
import Subprocess
import TestSupport
import Subprocess
import Testing

@Suite("sluice run --until-empty", .watched)
struct UntilEmptyTests {
    @Test("It does not wait for queues that it does not run: neither for a schedule nor for a retry")
    func others() async throws {
        let place = try Workplace()
        try await place.enqueue("b")
        let failed = try await place.sluice(
            "run",
            "--queue",
            "b",
            "--exec",
            "exit 75",
            "--retry-delay",
            "3600",
            "--retry-limit",
            "3600",
            "--for",
            "2s"
        )
        #expect(failed.status == .exited(10), "\(failed)")
        let later = try await place.sluice(
            "enqueue",
            "--queue",
            "c",
            "--kind",
            "k",
            "--payload",
            "1",
            "--not-before",
            "2099-01-01T00:00:00Z"
        )
        #expect(later.status == .exited(0), "\(later)")
        try await place.enqueue("a")
        let result = try await place.sluice("run", "--queue", "a", "--exec", "echo ran", "--until-empty")
        #expect(result.status == .exited(0), "\(result)")
        #expect(result.output == "ran\n" && result.errors.isEmpty)
        #expect(try await place.actions().count == 2)
    }
}
#endif
