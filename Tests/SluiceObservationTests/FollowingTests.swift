import Sluice
import SluiceTestKit
import Synchronization
import Testing

@testable import SluiceObservation

/// The results of one iteration after the other; after its results, an iteration waits to be cancelled.
private final class Updates: AsyncSequence, Sendable {
    typealias Element = Int
    typealias Failure = SluiceError

    private let iterations: Mutex<[[Result<Int, SluiceError>]]>

    init(_ iterations: [Result<Int, SluiceError>]...) { self.iterations = Mutex(iterations) }

    func makeAsyncIterator() -> Iterator {
        Iterator(results: iterations.withLock { $0.isEmpty ? [] : $0.removeFirst() })
    }

    struct Iterator: AsyncIteratorProtocol {
        var results: [Result<Int, SluiceError>]

        mutating func next() async throws(SluiceError) -> Int? {
            if !results.isEmpty { return try results.removeFirst().get() }
            try? await ManualClock().sleep(untilUptime: .seconds(1))
            return nil
        }
    }
}

@Suite("Following a sequence", .timeLimit(.minutes(1))) @MainActor struct FollowingTests {
    private let clock = ManualClock()
    private let shown = EventLog<String>()

    private func follow(_ updates: Updates, isThere: Bool = true) -> Following {
        Following(
            clock,
            { updates },
            show: { [shown] result in
                switch result {
                case .success(let number): shown.append("\(number)")
                case .failure(let error): shown.append("\(error.code)")
                }
                return isThere
            }
        )
    }

    @Test("An error is shown, and a second later the sequence begins again")
    func restarts() async throws {
        let error = SluiceError(.inputOutput, "the disk is gone")
        let following = follow(Updates([.success(1), .failure(error)], [.success(2)]))
        try await clock.waitForSleeper(untilUptime: .seconds(1))
        #expect(shown.elements == ["1", "inputOutput"])
        clock.advance(by: .seconds(1))
        _ = try await shown.wait(forCount: 3)
        #expect(shown.elements == ["1", "inputOutput", "2"])
        withExtendedLifetime(following) {}
    }

    @Test("The end of the broker is no error")
    func closed() async throws {
        let following = follow(Updates([.success(1), .failure(SluiceError(.closed, "it is closed"))]))
        await following.task.value
        #expect(shown.elements == ["1"])
    }

    @Test("Its release ends the sequence")
    func released() async throws {
        let task = follow(Updates([.success(1)])).task
        await task.value
        #expect(shown.elements.count <= 1)
    }

    @Test("It ends when the model is not there any more")
    func modelGone() async throws {
        let following = follow(Updates([.success(1), .success(2)]), isThere: false)
        await following.task.value
        #expect(shown.elements == ["1"])
    }
}
