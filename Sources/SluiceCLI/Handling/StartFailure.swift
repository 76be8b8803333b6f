#if CommandLineTool
internal import Sluice
internal import SystemPackage

/// The system failed to start a command.
struct StartFailure: Error, CustomStringConvertible {
    /// The pause before the next try when a resource is lacking.
    static let pause: Duration = .seconds(1)

    let reason: Errno

    /// - Parameter error: An `Errno`.
    init(_ error: any Error) { reason = error as? Errno ?? .ioError }

    init(code: Int32) { reason = Errno(rawValue: code) }

    /// What to do if the failure is temporary: a descriptor, a process or memory is lacking.
    private var advice: String? {
        switch reason {
        case .tooManyOpenFiles, .tooManyReferences: "lower --concurrency, or raise `ulimit -n`"
        case .tooManyOpenFilesInSystem: "the whole machine has too many files open"
        case .resourceTemporarilyUnavailable:
            "lower --concurrency, or raise `ulimit -u` or the service's limit of tasks"
        case .noMemory, .noBufferSpace: "lower --concurrency, or give the machine more memory"
        case .noSpace, .diskQuotaExceeded: "there is no room for the payload"
        // A container's filter of system calls, as an old one has it against new calls.
        case .notPermitted, .noFunction: "the system refuses it: see the filter or profile of the container"
        case .fileTooLarge: "the payload is longer than a file may be: raise `ulimit -f`"
        default: nil
        }
    }

    /// The outcome of an attempt that could not begin; `nil` if the failure is permanent.
    var outcome: Outcome? {
        advice == nil ? nil : .release(after: Self.pause, because: description)
    }

    var description: String {
        "no command can be started now: \(reason)" + (advice.map { "; \($0)" } ?? "")
    }
}
#endif
