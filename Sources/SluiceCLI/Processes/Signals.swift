#if CommandLineTool
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

    /// Ends the process by a signal, so that its parent sees which.
    static func end(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        kill(getpid(), number)
        exit(128 + number)
    }
}
#endif
