import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
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

@Suite("Following a sequence", .watched(minutes: 1)) @MainActor struct FollowingTests {
    private let clock = ManualClock()
    private let shown = EventLog<String>()

    /// Shows the sums of the numbers; -1 cannot be added.
    private func follow(_ updates: Updates, isThere: Bool = true) -> Following {
        Following(
            clock,
            { [shown] (last: Int?) -> Updates in
                if let last { shown.append("after \(last)") }
                return updates
            },
            merge: { (number: Int, last: Int?) async throws(SluiceError) -> Int in
                if number < 0 { throw SluiceError(.databaseLocked, "it is locked") }
                return number + (last ?? 0)
            },
            show: { [shown] result in
                switch result {
                case .success(let number): shown.append("\(number)")
                case .failure(let error): shown.append("\(error.code)")
                }
                return isThere
            }
        )
    }

    @Test("An error is shown, and a second later the sequence begins again, after what was shown last")
    func restarts() async throws {
        let error = SluiceError(.inputOutput, "the disk is gone")
        let following = follow(Updates([.success(1), .failure(error)], [.success(2)]))
        try await clock.waitForSleeper(untilUptime: .seconds(1))
        #expect(shown.elements == ["1", "inputOutput"])
        clock.advance(by: .seconds(1))
        _ = try await shown.wait(forCount: 4)
        #expect(shown.elements == ["1", "inputOutput", "after 1", "3"])
        withExtendedLifetime(following) {}
    }

    @Test("What cannot be merged is asked for again")
    func mergesAgain() async throws {
        let following = follow(Updates([.success(-1)], [.success(2)]))
        try await clock.waitForSleeper(untilUptime: .seconds(1))
        clock.advance(by: .seconds(1))
        _ = try await shown.wait(forCount: 2)
        #expect(shown.elements == ["databaseLocked", "2"])
        withExtendedLifetime(following) {}
    }

    @Test("10,000 elements and changes at their beginning, middle and end are merged in order")
    func merges() {
        struct Item: Identifiable, Equatable {
            var id: Int
            var text = "old"
        }
        func items(_ ids: some Sequence<Int>, _ text: String = "old") -> [Item] {
            ids.map { Item(id: $0, text: text) }
        }
        let even = stride(from: 0, to: 20_000, by: 2)
        let all = [Item]().merging(items(even).shuffled(), without: [])
        #expect(all == items(even))
        #expect(all[id: 9_998]?.id == 9_998 && all[id: 9_999] == nil && all[id: 20_000] == nil)
        // Half of them leave, from the front; of the others each third changes, and odd ones are new.
        let gone = items(even.prefix(5_000))
        let changed = items(stride(from: 10_002, to: 20_000, by: 6), "new")
        let new = items([-1, 7, 15_001, 19_999, 20_001])
        let merged = all.merging((changed + new).shuffled(), without: gone.shuffled())
        var expected = Dictionary(uniqueKeysWithValues: all.map { ($0.id, $0) })
        for item in gone { expected[item.id] = nil }
        for item in changed + new { expected[item.id] = item }
        #expect(merged == expected.values.sorted { $0.id < $1.id })
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
