#if CommandLineTool
internal import Dispatch

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Signal handling of the process.
enum Signals {
    /// Makes a write to a pipe without a reader fail, instead of ending the process.
    static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    /// Calls back for each signal of a number; from the return on, such a signal does not end the process.
    ///
    /// None is lost: one that comes earlier ends the process, if the process did not ignore it.
    static func source(
        of number: Int32,
        _ queue: DispatchQueue,
        _ handler: @escaping @Sendable () -> Void
    ) -> any DispatchSourceProtocol {
        let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
        let isRegistered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { isRegistered.signal() }
        source.setEventHandler(handler: handler)
        source.activate()
        isRegistered.wait()
        #if canImport(Darwin)
        // Elsewhere the source has a handler of its own, which this would replace.
        signal(number, SIG_IGN)
        #endif
        return source
    }

    /// Ends the process by a signal, so that its parent sees which.
    static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        exit(128 + number)
    }
}
#endif
