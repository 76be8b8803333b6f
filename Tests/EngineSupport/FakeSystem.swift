import SluiceTestKit
import Synchronization
import TestSupport

@testable import Sluice
@testable import SluiceBackground

/// A system that gives time and takes it when a test says so, and notes what it is asked for.
final class FakeSystem: BackgroundExtension, BackgroundProcessing {
    private struct State {
        var extensionExpired: (@Sendable () -> Void)?
        var processingBegan: (@Sendable () -> Void)?
        var processingExpired: (@Sendable () -> Void)?
        var hasBegun = false
        var refuses = false
        var timeLeft: (@Sendable () -> Duration)?
        var onRequest: @Sendable () -> Void = {}
    }

    private let state = Mutex(State())
    private let path: String?
    /// What it was asked for, in order; of what was given back also how many locks were held then.
    let log = EventLog<String>()

    /// - Parameter site: Whose file's locks are looked at.
    init(_ site: Site) { path = site.file?.path }

    /// Refuses what it is asked for, or no longer does.
    var refuses: Bool {
        get { state.withLock { $0.refuses } }
        set { state.withLock { $0.refuses = newValue } }
    }

    /// Called when processing time is asked for.
    func onRequest(_ body: @escaping @Sendable () -> Void) { state.withLock { $0.onRequest = body } }

    // What it is asked for.

    func begin(expired: @escaping @Sendable () -> Void) -> Bool {
        log.append("begin extension")
        return state.withLock { state in
            state.extensionExpired = state.refuses ? nil : expired
            return !state.refuses
        }
    }

    func end() { log.append("end extension\(locks)") }

    func connect(began: @escaping @Sendable () -> Void, expired: @escaping @Sendable () -> Void) {
        let hasBegun = state.withLock { state in
            state.processingBegan = began
            state.processingExpired = expired
            return state.hasBegun
        }
        if hasBegun { began() }
    }

    func request(after delay: Duration) throws {
        state.withLock { $0.onRequest }()
        log.append("request after \(delay.components.seconds) s")
        if refuses { throw TestError("not now") }
    }

    func cancelRequest() { log.append("cancel request") }

    var timeLeft: Duration? { state.withLock { $0.timeLeft }?() }

    func end(isDone: Bool) {
        state.withLock { $0.hasBegun = false }
        log.append("end processing, \(isDone ? "done" : "not done")\(locks)")
    }

    private var locks: String {
        #if os(Linux)
        guard let path else { return "" }
        return ", \((try? heldLocks(on: path).count) ?? -1) locks"
        #else
        return ", 0 locks"
        #endif
    }

    // What a test has it do.

    /// Says when the processing time will be over.
    func end(at end: Duration, by clock: ManualClock) {
        state.withLock { $0.timeLeft = { max(end - clock.uptime, .zero) } }
    }

    func expireExtension() { state.withLock { $0.extensionExpired }?() }

    func beginProcessing() {
        let began = state.withLock { state in
            state.hasBegun = true
            return state.processingBegan
        }
        began?()
    }

    func expireProcessing() { state.withLock { $0.processingExpired }?() }
}

/// Follows the application's comings and goings while `body` is at work.
func following<Output: Sendable>(
    _ background: BackgroundCoordinator,
    _ body: @Sendable () async throws -> Output
) async throws -> Output {
    let run = Task { try await background.run() }
    do {
        let output = try await body()
        run.cancel()
        try await run.value
        return output
    } catch {
        run.cancel()
        _ = await run.result
        throw error
    }
}

extension Site {
    /// A coordinator for a broker, on a system of its own.
    func background(
        _ broker: Broker,
        _ change: (inout BackgroundOptions) -> Void = { _ in }
    ) throws -> (BackgroundCoordinator, FakeSystem) {
        var options = BackgroundOptions()
        change(&options)
        let system = FakeSystem(self)
        let background = try BackgroundCoordinator(
            broker,
            extension: system,
            processing: system,
            options: options
        )
        return (background, system)
    }
}
