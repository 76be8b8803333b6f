#if canImport(BackgroundTasks) && (os(iOS) || os(tvOS) || os(visionOS))
internal import BackgroundTasks
internal import Foundation
internal import Synchronization

/// Processing time by `BGTaskScheduler`: minutes, at a time that the system chooses.
///
/// Make it before the application has finished launching, since the system requires registered handlers then.
/// List the identifier under `BGTaskSchedulerPermittedIdentifiers`, with the background mode `processing`.
///
/// *Untested:* it is not run by the tests of this library, which run on Linux.
public final class ProcessingTask: BackgroundProcessing {
    private struct State {
        var began: (@Sendable () -> Void)?
        var expired: (@Sendable () -> Void)?
        var task: Held?
    }

    /// The task of the system's, which may be ended on any thread.
    // `BGTask` is not marked as Sendable; its methods may be called on any queue.
    private struct Held: @unchecked Sendable {
        let task: BGTask
    }

    private let identifier: String
    private let requiresNetwork: Bool
    private let requiresPower: Bool
    private let state = Mutex(State())

    /// Registers the identifier with the system.
    ///
    /// - Parameters:
    ///   - identifier: As in `BGTaskSchedulerPermittedIdentifiers`; one object for each.
    ///   - requiresNetwork: Whether the time requires a network.
    ///   - requiresPower: Whether the time requires that the device is charged.
    public init(identifier: String, requiresNetwork: Bool = true, requiresPower: Bool = false) {
        self.identifier = identifier
        self.requiresNetwork = requiresNetwork
        self.requiresPower = requiresPower
        BGTaskScheduler.shared.register(forTaskWithIdentifier: identifier, using: nil) { [weak self] task in
            guard let self else { return task.setTaskCompleted(success: false) }
            begin(Held(task: task))
        }
    }

    /// Sets the callbacks; a task that has already begun is reported at once.
    public func connect(began: @escaping @Sendable () -> Void, expired: @escaping @Sendable () -> Void) {
        let hasTask = state.withLock { state in
            state.began = began
            state.expired = expired
            return state.task != nil
        }
        if hasTask { began() }
    }

    /// Submits a request.
    public func request(after delay: Duration) throws {
        let request = BGProcessingTaskRequest(identifier: identifier)
        request.requiresNetworkConnectivity = requiresNetwork
        request.requiresExternalPower = requiresPower
        let (seconds, attoseconds) = delay.components
        request.earliestBeginDate = Date(timeIntervalSinceNow: Double(seconds) + Double(attoseconds) / 1e18)
        try BGTaskScheduler.shared.submit(request)
    }

    /// Cancels the request.
    public func cancelRequest() {
        BGTaskScheduler.shared.cancel(taskRequestWithIdentifier: identifier)
    }

    /// Completes the task.
    public func end(isDone: Bool) {
        let held = state.withLock { state in
            defer { state.task = nil }
            return state.task
        }
        held?.task.setTaskCompleted(success: isDone)
    }

    private func begin(_ held: Held) {
        let (isFirst, began) = state.withLock { state in
            guard state.task == nil else { return (false, nil as (@Sendable () -> Void)?) }
            state.task = held
            return (true, state.began)
        }
        // The system grants one at a time.
        guard isFirst else { return held.task.setTaskCompleted(success: true) }
        // After the task is stored, so that an expiry finds it.
        held.task.expirationHandler = { [weak self] in self?.expire() }
        began?()
    }

    private func expire() {
        let expired = state.withLock { $0.task == nil ? nil : $0.expired }
        expired?()
    }
}
#endif
