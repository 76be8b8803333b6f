internal import Sluice
internal import Synchronization

/// Counts the starts of handlers, and tells when there have been enough.
final class Starts: Sendable {
    private struct State {
        var count = 0
        var first: Int64 = 0
        var last: Int64 = 0
    }

    private let limit: Int
    private let state = Mutex(State())
    private let (enough, signal) = AsyncStream<Never>.makeStream()

    init(limit: Int) {
        self.limit = limit
    }

    /// Notes a start, and tells its number, from 1.
    @discardableResult
    func note() -> Int {
        let now = OwnProcess.now
        let number = state.withLock { state in
            state.count += 1
            if state.count == 1 { state.first = now }
            if state.count == limit { state.last = now }
            return state.count
        }
        if number == limit { signal.finish() }
        return number
    }

    func waitForAll() async {
        for await _ in enough {}
    }

    /// When the first was, in nanoseconds of ``OwnProcess/now``.
    var first: Int64 { state.withLock { $0.first } }

    /// Seconds from the first to the last that counts.
    var seconds: Double { state.withLock { Double($0.last - $0.first) / 1e9 } }
}

/// When each of several things happened, in nanoseconds of ``OwnProcess/now``; 0 is not yet.
final class Moments: Sendable {
    private let moments: Mutex<[Int64]>

    init(count: Int) {
        moments = Mutex([Int64](repeating: 0, count: count))
    }

    func note(_ index: Int) {
        let now = OwnProcess.now
        moments.withLock { $0[index] = now }
    }

    var all: [Int64] { moments.withLock { $0 } }
}

/// When the actions of interest started, in nanoseconds of ``OwnProcess/now``.
final class StartTimes: Sendable {
    private struct State {
        var isOn = false
        var times: [ActionID: Int64] = [:]
    }

    private let state = Mutex(State())

    /// From here on starts are noted; those before are many, and nobody asks for them.
    func begin() { state.withLock { $0.isOn = true } }

    func note(_ id: ActionID) {
        let now = OwnProcess.now
        state.withLock { if $0.isOn { $0.times[id] = now } }
    }

    subscript(_ id: ActionID) -> Int64 { state.withLock { $0.times[id] ?? 0 } }
}
