#if CommandLineTool
import Foundation
import TestSupport
import Testing

@testable import Sluice
@testable import SluiceCLI

@Suite("A handler process and its attempts", .watched) struct HandlerProcessTests {
    private static func attempt(_ number: Int64) -> Attempt {
        Attempt(
            id: ActionID(rawValue: number),
            queue: "q",
            kind: "k",
            version: 1,
            number: 1,
            nonce: 1,
            enqueuedAt: .now,
            lastError: nil
        )
    }

    @Test("A cancellation that comes at any moment ends an attempt that the process has not been sent")
    func cancellations() async throws {
        // Nobody serves it: what is not cancelled waits for ever.
        let process = HandlerProcess(patience: .zero)
        var ended = 0
        for number in 1...2_000 {
            let task = Task { try await process.handle("1", Self.attempt(Int64(number))) }
            if number.isMultiple(of: 2) { await Task.yield() }
            task.cancel()
            if case .failure(let error) = await task.result, error is CancellationError { ended += 1 }
        }
        #expect(ended == 2_000)
    }
}
#endif
