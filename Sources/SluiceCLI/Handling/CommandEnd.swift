#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// How a command ended.
enum CommandEnd: Sendable, Hashable {
    case exited(Int32)
    case signaled(Int32)

    /// - Parameter status: The status of waitpid(2).
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signaled(signal)
    }

    /// The signal that ended it, also if a shell reports it by its exit status.
    var signal: Int32? {
        switch self {
        case .signaled(let signal): signal
        case .exited(let code): Self.ends.contains(code - 128) ? code - 128 : nil
        }
    }

    /// Signals that people use to end programs.
    private static let ends = [SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM]
}
#endif
