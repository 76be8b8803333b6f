#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// An error that ends a verb with a status of its own.
struct Failure: Error, CustomStringConvertible {
    let status: ExitStatus
    /// For standard error; `nil` when everything has been reported.
    let message: String?

    var description: String { message ?? "\(status)" }

    init(_ status: ExitStatus, _ message: String? = nil) {
        self.status = status
        self.message = message
    }

    /// - Parameter words: The state of the thing if nothing was done.
    init(_ error: SluiceError, leaving words: String) {
        let mayBeDone = [.connectionLost, .unknownCommit].contains(error.code)
        self.init(ExitStatus(error.code), mayBeDone ? error.message : "\(words): \(error.message)")
    }
}
#endif
