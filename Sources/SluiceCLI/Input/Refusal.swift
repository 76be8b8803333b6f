#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The reason why something is not enqueued.
struct Refusal: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
#endif
