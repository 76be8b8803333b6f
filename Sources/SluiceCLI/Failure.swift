#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// An error that ends a verb with a status of its own.
struct Failure: Error {
    let status: ExitStatus
    /// For standard error; `nil` when everything has been reported.
    let message: String?

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }
}
#endif
