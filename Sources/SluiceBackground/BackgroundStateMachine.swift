internal import Sluice

/// Decides when a broker runs and what to request from the system: events in, effects out; no clock, no
/// waiting.
///
/// Each state holds at most one thing of the system: an extension, processing time, or a request for that.
/// The page "Background work" of `Sluice` shows all states and transitions; a test compares them.
struct BackgroundStateMachine: Sendable {
    enum Event: Sendable, Hashable {
        case enteredForeground
        /// The application has left the foreground, with this much work.
        case leftForeground(RemainingWork)
        /// The system grants no extension.
        case extensionRefused
        case extensionExpired
        case processingBegan
        case processingExpired
        /// The system accepts no request for processing time.
        case requestRefused
        /// The broker runs in the background, and nothing is in progress any more.
        case rested(RemainingWork)
        /// A stop has ended, with this much work left: no transaction is open and no lock is held.
        case stopped(Int, RemainingWork)
        /// Other code has used the broker while it did not run, and it has released the file again.
        case workCame(RemainingWork)
        /// The broker cannot continue, or its run has ended.
        case ended
    }

    enum Effect: Sendable, Hashable {
        /// Open the file again, and run the broker.
        case run
        /// Stop the broker in time and release the file; then report the end with this number.
        case stop(Int)
        case beginExtension
        case endExtension
        case requestProcessing(after: Duration)
        case cancelRequest
        /// `isDone`: all work that was possible is done.
        case endProcessing(isDone: Bool)
    }

    /// A request of an earlier process may exist.
    private(set) var state = BackgroundState.awaitingProcessing
    private let options: BackgroundOptions
    /// Distinguishes a stop from earlier ones, whose end may be reported late.
    private(set) var lastStop = 0
    /// How long the current processing time will last, if known.
    var timeLeft: Duration?
    /// Work that has arrived since the current stop began; the stop's report need not include it.
    private var cameMeanwhile = RemainingWork.none

    init(options: BackgroundOptions = BackgroundOptions()) {
        self.options = options
    }

    mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .enteredForeground: enterForeground()
        case .leftForeground(let work): leaveForeground(work)
        case .extensionRefused: state == .extended ? stop(.leaving) : []
        case .extensionExpired: state == .extended ? stop(.endingExtension) : []
        case .processingBegan: beginProcessing()
        case .processingExpired: state == .processing ? stop(.endingProcessing) : []
        case .requestRefused: refuseRequest()
        case .rested(let work): rest(work)
        case .stopped(let number, let work): number == lastStop ? stopped(work) : []
        case .workCame(let work): workCame(work)
        case .ended: end()
        }
    }

    /// Returns whether the system's time should be used: something runs, is ready, or will be soon.
    func isInProgress(_ work: RemainingWork) -> Bool {
        switch work {
        case .none: false
        case .later(let delay): delay <= min(options.longestPause, timeLeft ?? options.longestPause)
        case .now: true
        }
    }
}

// MARK: - What each event does

extension BackgroundStateMachine {
    /// Runs at once, and gives back or cancels everything of the system.
    private mutating func enterForeground() -> [Effect] {
        timeLeft = nil
        defer { state = .foreground }
        switch state {
        case .foreground: return []
        // The broker keeps running.
        case .extended: return [.endExtension]
        case .processing: return [.endProcessing(isDone: true)]
        // The run begins after the current stop.
        case .leaving, .asleep: return [.run]
        case .endingExtension: return [.endExtension, .run]
        case .endingProcessing: return [.endProcessing(isDone: false), .run]
        case .awaitingProcessing: return [.cancelRequest, .run]
        }
    }

    private mutating func leaveForeground(_ work: RemainingWork) -> [Effect] {
        guard state == .foreground else { return [] }
        guard isInProgress(work), !mutant("extension") else { return stop(.leaving) }
        state = .extended
        return [.beginExtension]
    }

    private mutating func beginProcessing() -> [Effect] {
        switch state {
        case .asleep, .awaitingProcessing:
            state = .processing
            timeLeft = nil
            return [.run]
        // The broker runs anyway.
        case .foreground, .extended: return [.endProcessing(isDone: true)]
        // Never beside an extension; the end of the stop requests it again.
        case .leaving, .endingExtension: return [.endProcessing(isDone: false)]
        // This is the one that is held.
        case .processing, .endingProcessing: return []
        }
    }

    private mutating func refuseRequest() -> [Effect] {
        if state == .awaitingProcessing { state = .asleep }
        return []
    }

    private mutating func rest(_ work: RemainingWork) -> [Effect] {
        guard !isInProgress(work) else { return [] }
        switch state {
        case .extended: return stop(.endingExtension)
        case .processing: return stop(.endingProcessing)
        case .foreground, .leaving, .endingExtension, .endingProcessing, .asleep, .awaitingProcessing:
            return []
        }
    }

    /// Requests processing time if work is left, and only then gives back the current time.
    private mutating func stopped(_ work: RemainingWork) -> [Effect] {
        let work = work.sooner(cameMeanwhile)
        let end: [Effect]
        switch state {
        case .leaving: end = []
        case .endingExtension: end = [.endExtension]
        case .endingProcessing: end = [.endProcessing(isDone: !isInProgress(work))]
        case .foreground, .extended, .processing, .asleep, .awaitingProcessing: return []
        }
        guard let delay = delay(of: work), !mutant("processing request") else {
            state = .asleep
            return end
        }
        state = .awaitingProcessing
        return [.requestProcessing(after: max(delay, options.processingDelay))] + end
    }

    /// Requests processing time if work is left, sooner if it was requested already.
    private mutating func workCame(_ work: RemainingWork) -> [Effect] {
        cameMeanwhile = cameMeanwhile.sooner(work)
        guard state == .asleep || state == .awaitingProcessing, !mutant("work has come"),
            let delay = delay(of: work)
        else { return [] }
        state = .awaitingProcessing
        return [.requestProcessing(after: max(delay, options.processingDelay))]
    }

    private mutating func end() -> [Effect] {
        let held = state
        // A request remains, for the next process.
        if state != .awaitingProcessing { state = .asleep }
        switch held {
        case .extended, .endingExtension: return [.endExtension]
        case .processing, .endingProcessing: return [.endProcessing(isDone: false)]
        case .foreground, .leaving, .asleep, .awaitingProcessing: return []
        }
    }

    private mutating func stop(_ next: BackgroundState) -> [Effect] {
        state = next
        cameMeanwhile = .none
        lastStop += 1
        return [.stop(lastStop)]
    }

    private func delay(of work: RemainingWork) -> Duration? {
        switch work {
        case .none: nil
        case .later(let delay): delay
        case .now: .zero
        }
    }
}
