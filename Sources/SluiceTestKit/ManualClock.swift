public import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A clock that only a test moves.
///
/// ```swift
/// let clock = ManualClock()
/// var options = BrokerOptions()
/// options.clock = clock
/// …
/// clock.advance(by: .seconds(30))   // waits of up to 30 seconds end
/// ```
///
/// Deadlines are points in time, so the engine may begin to wait before or after the clock is moved past
/// them.
public final class ManualClock: BrokerClock {
    private struct Sleeper {
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    /// A test that waits until the engine sleeps.
    private struct Watcher {
        let deadline: Duration
        let continuation: CheckedContinuation<Result<Void, CancellationError>, Never>
    }

    private struct State {
        var wallMicroseconds: Int64
        var uptime: Duration = .zero
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var watchers: [Int: Watcher] = [:]
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state: Mutex<State>

    /// Makes a clock.
    ///
    /// - Parameter wallMicroseconds: The wall clock at the start, in microseconds since 1970; by default the
    ///   start of 2026 (UTC).
    public init(wallMicroseconds: Int64 = 1_767_225_600_000_000) {
        state = Mutex(State(wallMicroseconds: wallMicroseconds))
    }

    /// The wall clock.
    public var wallMicroseconds: Int64 { state.withLock { $0.wallMicroseconds } }

    /// The wall clock as a date, for schedules and expiries: `clock.date + 60`.
    public var date: Date {
        Date(timeIntervalSince1970: Double(wallMicroseconds) / 1_000_000)
    }

    /// The time that the clock has been moved by.
    public var uptime: Duration { state.withLock { $0.uptime } }

    /// Moves both clocks, and resumes the sleepers whose time has come.
    public func advance(by duration: Duration) {
        precondition(duration >= .zero, "uptime never goes back; use jumpWall(by:) for the wall clock")
        let due = state.withLock { state in
            state.uptime += duration
            state.wallMicroseconds += duration.microseconds
            let due = state.sleepers.filter { $0.value.deadline <= state.uptime }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Moves only the wall clock, forward or back, as a person or a time server does.
    public func jumpWall(by duration: Duration) {
        state.withLock { $0.wallMicroseconds += duration.microseconds }
    }

    /// Waits until the engine sleeps until a point of ``uptime`` at or before `deadline`.
    ///
    /// With it, a test makes sure that the engine is waiting before the test checks that nothing has
    /// happened.
    ///
    /// - Throws: `CancellationError` when the task is cancelled first, such as by a test's time limit.
    public func waitForSleeper(untilUptime deadline: Duration) async throws(CancellationError) {
        let number = state.withLock { $0.nextNumber() }
        try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer = state.withLock { state -> Result<Void, CancellationError>? in
                    if state.sleepers.values.contains(where: { $0.deadline <= deadline }) {
                        return .success(())
                    }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    state.watchers[number] = Watcher(deadline: deadline, continuation: continuation)
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            // The task is already cancelled, so a watcher that is not registered yet will not wait.
            state.withLock { $0.watchers.removeValue(forKey: number) }?.continuation
                .resume(returning: .failure(CancellationError()))
        }.get()
    }

    /// Sleeps until the clock has been moved to a point.
    public func sleep(untilUptime deadline: Duration) async throws {
        let number = state.withLock { $0.nextNumber() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(number, Sleeper(deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func enter(_ number: Int, _ sleeper: Sleeper) {
        enum Next { case sleep, goOn, throwCancellation }
        let (next, watchers) = state.withLock { state -> (Next, [Watcher]) in
            if state.cancelled.remove(number) != nil { return (.throwCancellation, []) }
            if sleeper.deadline <= state.uptime { return (.goOn, []) }
            state.sleepers[number] = sleeper
            let watchers = state.watchers.filter { sleeper.deadline <= $0.value.deadline }
            for number in watchers.keys { state.watchers[number] = nil }
            return (.sleep, Array(watchers.values))
        }
        for watcher in watchers { watcher.continuation.resume(returning: .success(())) }
        switch next {
        case .sleep: break
        case .goOn: sleeper.continuation.resume()
        case .throwCancellation: sleeper.continuation.resume(throwing: CancellationError())
        }
    }

    private func cancel(_ number: Int) {
        let sleeper = state.withLock { state -> Sleeper? in
            guard let sleeper = state.sleepers.removeValue(forKey: number) else {
                state.cancelled.insert(number)
                return nil
            }
            return sleeper
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}

extension Duration {
    /// Whole microseconds, rounded down.
    fileprivate var microseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }
}
