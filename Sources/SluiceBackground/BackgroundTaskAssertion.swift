#if canImport(UIKit) && !os(watchOS)
internal import Synchronization
public import UIKit

/// An extension by `UIApplication.beginBackgroundTask`, mostly some 30 seconds.
///
/// *Untested:* it is not run by the tests of this library, which run on Linux.
///
/// If the time is not given back, the system kills the application some seconds after its warning. Keep the
/// sum of ``BackgroundOptions/stopGrace`` and ``BackgroundOptions/patience`` below that.
public final class BackgroundTaskAssertion: BackgroundExtension {
    private let application: UIApplication
    private let name: String
    private let identifier = Mutex<UIBackgroundTaskIdentifier>(.invalid)

    /// Makes an extension that holds no time yet.
    ///
    /// - Parameters:
    ///   - application: `UIApplication.shared`, which extensions of applications do not have.
    ///   - name: The name in the debugger.
    public init(_ application: UIApplication, name: String = "sluice") {
        self.application = application
        self.name = name
    }

    /// Requests the time.
    public func begin(expired: @escaping @Sendable () -> Void) -> Bool {
        let begun = application.beginBackgroundTask(withName: name) { expired() }
        let earlier = identifier.withLock { identifier in
            defer { identifier = begun }
            return identifier
        }
        end(earlier)
        return begun != .invalid
    }

    /// Gives the time back.
    public func end() {
        let held = identifier.withLock { identifier in
            defer { identifier = .invalid }
            return identifier
        }
        end(held)
    }

    private func end(_ identifier: UIBackgroundTaskIdentifier) {
        if identifier != .invalid { application.endBackgroundTask(identifier) }
    }
}
#endif
