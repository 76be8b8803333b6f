#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// What the process was started with.
enum Surroundings {
    /// Sees to it that nothing else gets the number of a standard stream that was closed, and that a limit of
    /// the size of files is an error of the write.
    static func prepare() {
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
            // The wrong way round: a read or a write of it still fails.
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Refuses arguments that cannot be read, and such as are no UTF-8: repaired, two names would become one.
    static func checkArguments() throws(Failure) {
        guard CommandLine.argc > 0 else {
            throw Failure(
                .internalError,
                "there are no arguments to be read: on Linux they are read from /proc, which must be mounted"
            )
        }
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index] else { continue }
            guard String(validatingCString: argument) == nil else { continue }
            throw Failure(
                .usage,
                "argument \(index) is not UTF-8: \(Visible.text(String(cString: argument))); names in a file "
                    + "are UTF-8, whatever the locale"
            )
        }
    }
}
#endif
