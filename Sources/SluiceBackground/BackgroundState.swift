/// The state of a ``BackgroundCoordinator``.
public enum BackgroundState: String, Sendable, Hashable, CaseIterable {
    /// The application is in the foreground, and the broker runs.
    case foreground
    /// The application is in the background with an extension, and the broker runs.
    case extended
    /// The application is in the background with processing time, and the broker runs.
    case processing
    /// The application has left the foreground with nothing in progress: the broker is being stopped.
    case leaving
    /// The broker is being stopped, and the extension is held until then.
    case endingExtension
    /// The broker is being stopped, and the processing time is held until then.
    case endingProcessing
    /// The broker has stopped and released its file; no work is left, and nothing is requested.
    case asleep
    /// The broker has stopped and released its file; processing time is requested.
    case awaitingProcessing

    /// Whether the broker runs, or is about to.
    var isRunning: Bool { self == .foreground || runsInBackground }

    /// Whether the broker runs on time that the system has granted.
    var runsInBackground: Bool { self == .extended || self == .processing }

    /// Whether the broker is being stopped.
    var isStopping: Bool {
        switch self {
        case .leaving, .endingExtension, .endingProcessing: true
        case .foreground, .extended, .processing, .asleep, .awaitingProcessing: false
        }
    }
}
