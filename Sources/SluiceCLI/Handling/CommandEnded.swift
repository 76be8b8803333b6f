#if CommandLineTool
internal import Sluice

/// The end of a command that is no success, as the error of the attempt.
struct CommandEnded: Error, CustomStringConvertible {
    let end: CommandEnd
    /// The end of its standard error.
    var errors = ErrorTail()
    /// The delay that it has asked for; `nil` leaves it to the retry policy.
    var delay: Duration?

    var description: String {
        switch end {
        case .exited(let code): errors.text(after: "exited with \(code)")
        case .signaled(let signal): errors.text(after: "ended by signal \(signal)")
        }
    }
}
#endif
