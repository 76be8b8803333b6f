/// When a broker runs and what is asked of the system, as the application comes and goes: events in, effects
/// out; no clock, no broker, no waiting.
///
/// Each state holds one thing of the system's at most: an extension of the foreground's time, processing
/// time, or a request for that. All states and transitions are drawn on the page <doc:BackgroundWork>; a test
/// compares the page with what stands here.
struct BackgroundStateMachine: Sendable {
    enum Event: Sendable, Hashable {
        case enteredForeground
        /// The application has left the foreground, with so much to do.
        case leftForeground(RemainingWork)
        /// The system gives no extension.
        case extensionRefused
        case extensionExpired
        case processingBegan
        case processingExpired
        /// The system takes no request for processing time.
        case requestRefused
        /// Nothing is in progress any more while the broker runs in the background.
        case rested(RemainingWork)
        /// A stop is over: no transaction is open and no lock is held; so much is left.
        case stopped(Int, RemainingWork)
        /// Somebody has used the broker while it did not run, and it has let go of the file again; so much is
        /// left.
        case workCame(RemainingWork)
        /// The broker cannot go on, or nobody is to run it any more.
        case ended
    }

    enum Effect: Sendable, Hashable {
        /// Open the file again, and run the broker.
        case run
        /// Stop the broker in time, and let go of the file; then tell, with this number.
        case stop(Int)
        case beginExtension
        case endExtension
        case requestProcessing(after: Duration)
        case cancelRequest
        /// `isDone`: all that could be done has been.
        case endProcessing(isDone: Bool)
    }

    /// At first a request of an earlier process may stand.
    private(set) var state = BackgroundState.awaitingProcessing
    private let options: BackgroundOptions
    /// Tells a stop from earlier ones, whose end may be told late.
    private(set) var lastStop = 0
    /// How long the processing time that has begun will last, where that is known.
    var timeLeft: Duration?
    /// What has come since the stop that is under way began: it need not be among what that leaves.
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

    /// Whether it is worth the system's time to go on: something runs, is ready, or will be soon.
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
    /// Runs at once; whatever was asked of the system is given back.
    private mutating func enterForeground() -> [Effect] {
        timeLeft = nil
        defer { state = .foreground }
        switch state {
        case .foreground: return []
        // The broker runs, and goes on.
        case .extended: return [.endExtension]
        case .processing: return [.endProcessing(isDone: true)]
        // The run comes behind the stop that is under way.
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
        // Never beside an extension; what the stop leaves is asked for anew.
        case .leaving, .endingExtension: return [.endProcessing(isDone: false)]
        // It is the one that is held.
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

    /// Asks for processing time if anything is left, and only then gives back what kept the process awake.
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

    /// Asks for processing time if anything is left, sooner if it was asked for already.
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
        // What was asked for stands, for the next process.
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
