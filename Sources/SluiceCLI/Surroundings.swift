#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The environment that the process was started in.
enum Surroundings {
    /// Reserves the numbers of closed standard streams, and makes a file size limit an error of the write.
    static func prepare() {
        for stream in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(stream, F_GETFD) == -1 {
            // In the wrong mode, so that reads or writes of it still fail.
            _ = open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Returns the command that builds this tool with one trait more.
    static func buildCommand(adding trait: String) -> String {
        let traits = ["CommandLineTool"] + postgres + web + [trait]
        return "swift build -c release --product sluice --traits \(traits.joined(separator: ","))"
    }

    #if PostgreSQL
    private static let postgres = ["PostgreSQL"]
    #else
    private static let postgres: [String] = []
    #endif

    #if Web
    private static let web = ["Web"]
    #else
    private static let web: [String] = []
    #endif

    /// Refuses arguments that cannot be read or are not UTF-8: repaired, two names could become one.
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
