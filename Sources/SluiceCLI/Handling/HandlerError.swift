#if CommandLineTool
internal import Sluice

/// Why an attempt in a handler process failed.
struct HandlerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    init(_ end: CommandEnd) {
        switch end {
        case .exited(let code): description = "the handler process ended with status \(code)"
        case .signaled(let signal): description = "signal \(signal) ended the handler process"
        }
    }
}
#endif
