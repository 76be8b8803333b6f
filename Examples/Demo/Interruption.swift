#if CommandLineTool
import Dispatch
import Foundation

/// Turns SIGINT and SIGTERM into a call, so that a show that is broken off still cleans up behind itself.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    init(_ act: @escaping @Sendable () -> Void) {
        sources = [SIGINT, SIGTERM].map { number in
            // The default action would end the process before the source sees the signal.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler(handler: act)
            source.resume()
            return source
        }
    }

    /// Lets the signals pass; a value that is dropped before has no effect any more.
    func end() {
        for source in sources { source.cancel() }
    }
}
#endif
