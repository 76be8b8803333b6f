#if CommandLineTool
import Dispatch
import Foundation

/// Turns SIGINT and SIGTERM into a call, so that a show that is broken off still cleans up behind itself.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// From the return on, the signals call; one that comes earlier ends the process, and none is lost.
    init(_ act: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            let source = DispatchSource.makeSignalSource(signal: number)
            let isRegistered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { isRegistered.signal() }
            source.setEventHandler(handler: act)
            source.activate()
            // On Linux the source takes the signal over when it is registered, on another thread.
            isRegistered.wait()
            #if canImport(Darwin)
            signal(number, SIG_IGN)
            #endif
            return source
        }
    }

    /// Lets the signals pass; a value that is dropped before has no effect any more.
    func end() {
        for source in sources { source.cancel() }
    }
}
#endif
