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

/// What the process does with signals from the start.
enum Signals {
    /// A write to a pipe that nobody reads fails, instead of ending the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}

/// Counts SIGTERM and SIGINT, and tells somebody of each.
final class StopRequests: Sendable {
    private struct State {
        var count = 0
        var receiver: (@Sendable (Int) -> Void)?
    }

    private let state = Mutex(State())
    /// Kept, as a source that is dropped is silent; never used again.
    private nonisolated(unsafe) let sources: [any DispatchSourceSignal]

    /// Takes over both signals: from now on they end nothing by themselves.
    init() {
        sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            return DispatchSource.makeSignalSource(signal: number, queue: .global())
        }
        for source in sources {
            source.setEventHandler { [weak self] in self?.request() }
            source.activate()
        }
    }

    /// The number of signals so far.
    var count: Int { state.withLock { $0.count } }

    /// Calls `receiver` for each signal with its number, counted from 1; at once for those that have come.
    ///
    /// It is told before the user is: nothing is to start any more when they read that it stops.
    func connect(_ receiver: @escaping @Sendable (Int) -> Void) {
        let count = state.withLock { state in
            state.receiver = receiver
            return state.count
        }
        for number in 0..<count { tell(receiver, number + 1) }
    }

    private func request() {
        let (count, receiver) = state.withLock { state in
            state.count += 1
            return (state.count, state.receiver)
        }
        if let receiver { tell(receiver, count) }
    }

    private func tell(_ receiver: (Int) -> Void, _ number: Int) {
        receiver(number)
        if number == 1 { Terminal.remark("stopping; once more cancels what runs") }
    }
}
#endif
