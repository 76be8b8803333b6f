#if CommandLineTool
internal import CSluiceCommands
internal import Sluice
internal import SystemPackage

/// Limits of delays from a handler.
enum Seconds {
    /// A hundred years, the library's own limit; a `Duration` made of much more would trap.
    static let longest = 3_155_760_000.0

    /// Returns a handler's delay; `nil` if it is negative or not finite.
    ///
    /// A negative delay may come from a clock that differs, and does not ask for an immediate retry.
    static func delay(_ seconds: Double) -> Duration? {
        seconds.isFinite && seconds >= 0 ? .seconds(min(seconds, longest)) : nil
    }
}
#endif
