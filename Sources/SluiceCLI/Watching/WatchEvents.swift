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
    /// Kept because a released source is silent; never used again.
    private nonisolated(unsafe) let sources: [any DispatchSourceProtocol]

    /// Takes over the signals that end a process, which then do not end it.
    ///
    /// - Parameter readsKeys: Whether standard input is a terminal in raw mode.
    init(readsKeys: Bool) {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        self.stream = stream
        let queue = DispatchQueue(label: "sluice.watch")
        var sources: [any DispatchSourceProtocol] = [SIGINT, SIGTERM, SIGHUP].map { number in
            Signals.source(of: number, queue) { continuation.yield(.stop) }
        }
        sources.append(Signals.source(of: SIGWINCH, queue) { continuation.yield(.resized) })
        let timer = DispatchSource.makeTimerSource(queue: queue)
        timer.schedule(deadline: .now(), repeating: .milliseconds(100), leeway: .milliseconds(10))
        timer.setEventHandler { continuation.yield(.tick) }
        timer.activate()
        sources.append(timer)
        if readsKeys {
            let keyboard = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
            keyboard.setEventHandler {
                let bytes = RawTerminal.readKeys()
                continuation.yield(bytes.isEmpty ? .stop : .keys(bytes))
                if bytes.isEmpty { keyboard.cancel() }
            }
            keyboard.activate()
            sources.append(keyboard)
        }
        self.sources = sources
    }
}
#endif
