#if CommandLineTool
internal import Dispatch
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Counts the signals that stop a run, and reports each: SIGTERM, SIGINT, SIGHUP and SIGQUIT.
final class StopRequests: Sendable {
    /// The longest delay between the same signal to a command and to this process.
    private static let spread: Duration = .milliseconds(250)
    private static let looks = 10

    private struct State {
        var count = 0
        var first: (signal: Int32, at: ContinuousClock.Instant)?
        var receiver: (@Sendable (Int) -> Void)?
    }

    private let state = Mutex(State())
    private let remark: String?
    /// Kept because a released source is silent; never used again.
    private nonisolated(unsafe) var sources: [any DispatchSourceProtocol] = []

    /// Takes over the signals, which then do not end the process.
    ///
    /// If the end of a terminal was ignored, as by nohup(1), it remains so.
    ///
    /// - Parameters:
    ///   - remark: Written to standard error at the first signal.
    ///   - refusesSuspension: Whether Ctrl-Z of a terminal is answered by a remark: on a server the lease of
    ///     a process that is stopped would end while its commands run on.
    init(remark: String? = "stopping; a second signal cancels attempts", refusesSuspension: Bool = false) {
        self.remark = remark
        let numbers = [SIGTERM, SIGINT, SIGHUP, SIGQUIT].filter { !Self.isToIgnore($0) }
        sources = numbers.map { number in
            Signals.source(of: number, .global()) { [weak self] in self?.request(number) }
        }
        guard refusesSuspension else { return }
        sources.append(
            Signals.source(of: SIGTSTP, .global()) {
                Terminal.remark(
                    "a run on a server goes on at Ctrl-Z: its lease would end while its commands run; "
                        + "Ctrl-C ends it"
                )
            }
        )
    }

    private static func isToIgnore(_ number: Int32) -> Bool {
        guard number == SIGHUP else { return false }
        var action = sigaction()
        sigaction(number, nil, &action)
        #if os(Linux)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        #else
        return unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == 1
        #endif
    }

    /// The number of signals so far.
    var count: Int { state.withLock { $0.count } }

    /// The first signal.
    var firstSignal: Int32? { state.withLock { $0.first?.signal } }

    /// The time of the first signal.
    var firstSignalAt: ContinuousClock.Instant? { state.withLock { $0.first?.at } }

    /// Returns whether a signal has arrived, or arrives within a moment.
    ///
    /// A signal to all processes of a group or a service reaches them one after the other.
    ///
    /// - Parameter isLikely: Whether a signal has ended the command; otherwise the wait is only as short as a
    ///   failing attempt may be delayed.
    func isNear(isLikely: Bool) async -> Bool {
        for _ in 0..<(isLikely ? Self.looks : 1) where count == 0 {
            do { try await Task.sleep(for: Self.spread / Self.looks) } catch { break }
        }
        return count > 0
    }

    /// Calls `receiver` for each signal with its number, counted from 1; at once for earlier signals.
    ///
    /// It is called before the user is notified: when they read that the run stops, nothing starts any more.
    func connect(_ receiver: @escaping @Sendable (Int) -> Void) {
        let count = state.withLock { state in
            state.receiver = receiver
            return state.count
        }
        for number in 0..<count { tell(receiver, number + 1) }
    }

    private func request(_ number: Int32) {
        let (count, receiver) = state.withLock { state in
            state.count += 1
            state.first = state.first ?? (number, .now)
            return (state.count, state.receiver)
        }
        if let receiver {
            tell(receiver, count)
        } else if count > 1 {
            Signals.end(by: number)
        }
    }

    private func tell(_ receiver: (Int) -> Void, _ number: Int) {
        receiver(number)
        if number == 1, let remark { Terminal.remark(remark) }
    }
}
#endif
