package import Logging

/// Messages that a program may know: the tool says in its own words what some of them say.
package enum LogMessages {
    /// A run ends by an error, which it throws.
    package static let endOfRun: Logger.Message = "the broker cannot continue"
    /// No queue matches the pattern of a route.
    package static let unmatchedPattern: Logger.Message =
        "no queue matches a route, and others have no route"
}
