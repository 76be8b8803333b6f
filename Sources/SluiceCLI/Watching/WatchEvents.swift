#if CommandLineTool
internal import Dispatch

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The events of a watch: keys, changes of the window's size, signals, and ticks.
final class WatchEvents: Sendable {
    enum Event: Sendable {
        case keys([UInt8])
        case resized
        /// A signal asks for the end, or there are no more keys.
        case stop
        case tick
    }

    /// The interval of ticks, the shortest time between two frames.
    static let interval: Duration = .milliseconds(100)

    let stream: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let queue = DispatchQueue(label: "sluice.watch")
    /// Kept because a released source is silent; written by the verb's task alone, and never read.
    private nonisolated(unsafe) var sources: [any DispatchSourceProtocol]

    /// Takes over the signals that end a process, which then do not end it: before the terminal is changed,
    /// which none of them would restore.
    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        (self.stream, self.continuation) = (stream, continuation)
        let queue = queue
        var sources: [any DispatchSourceProtocol] = [SIGINT, SIGTERM, SIGHUP].map { number in
            Signals.source(of: number, queue) { continuation.yield(.stop) }
        }
        sources.append(Signals.source(of: SIGWINCH, queue) { continuation.yield(.resized) })
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(10))
        timer.setEventHandler { continuation.yield(.tick) }
        timer.activate()
        sources.append(timer)
        self.sources = sources
    }

    /// Reads the keys of a terminal in raw mode.
    func readKeys() {
        let keyboard = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
        keyboard.setEventHandler { [continuation] in
            let bytes = RawTerminal.readKeys()
            continuation.yield(bytes.isEmpty ? .stop : .keys(bytes))
            if bytes.isEmpty { keyboard.cancel() }
        }
        keyboard.activate()
        sources.append(keyboard)
    }
}
#endif
