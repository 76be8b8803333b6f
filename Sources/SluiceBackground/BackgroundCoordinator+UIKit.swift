#if canImport(UIKit) && !os(watchOS)
internal import Dispatch
public import UIKit

extension BackgroundCoordinator {
    /// How long the main thread waits for the file to be released: the system allows five seconds.
    private static let patienceOnLeaving: DispatchTimeInterval = .seconds(4)

    /// Follows the application into the background and back, until ``run()`` ends for good.
    ///
    /// Call it once, when the application has launched. If nothing is in progress when the application leaves
    /// the foreground, the main thread waits until the file has been released, mostly some milliseconds.
    /// After that, the system may suspend the process at any time.
    ///
    /// *Untested:* it is not run by the tests of this library, which run on Linux.
    @MainActor
    public func follow(_ application: UIApplication) {
        let center = NotificationCenter.default
        // The center keeps the observers, for as long as the application runs.
        _ = center.addObserver(
            forName: UIApplication.willEnterForegroundNotification,
            object: application,
            queue: nil
        ) { [weak self] _ in
            self?.willEnterForeground()
        }
        _ = center.addObserver(
            forName: UIApplication.didEnterBackgroundNotification,
            object: application,
            queue: nil
        ) { [weak self] _ in
            self?.leaveBlocking()
        }
        if application.applicationState != .background { willEnterForeground() }
    }

    /// Leaves the foreground; returns when the process may be suspended, or an extension is held.
    private func leaveBlocking() {
        leave()
        guard state.isStopping else { return }
        let done = DispatchSemaphore(value: 0)
        Task {
            await stopped()
            done.signal()
        }
        _ = done.wait(timeout: .now() + Self.patienceOnLeaving)
    }
}
#endif
