#if CommandLineTool
internal import Sluice

/// The error after a signal; earlier input has been stored.
struct Stopped: Error {
    let signal: Int32
}
#endif
