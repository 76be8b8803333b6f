internal import Dispatch
internal import Foundation
package import Testing

/// Ends the run with the name of a test that takes too long, whatever it waits for.
///
/// A test that is cancelled after its time may go on waiting, and then no other test is heard of.
package struct Watched: TestTrait, SuiteTrait, TestScoping {
    let limit: Duration

    package var isRecursive: Bool { true }

    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Watched? {
        // A test's own limit stands in place of its suite's.
        guard testCase != nil, let last = test.traits.compactMap({ $0 as? Watched }).last else { return nil }
        return last.limit == limit ? self : nil
    }

    package func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let place = test.sourceLocation
        let watch = Watch("\(test.displayName ?? test.name) (\(place.fileID):\(place.line))", limit)
        defer { watch.callOff() }
        try await function()
    }
}

extension Trait where Self == Watched {
    /// Two minutes, which are enough for any test on a busy machine that does not say more.
    package static var watched: Watched { watched(minutes: 2) }

    /// The minutes that a test may take.
    package static func watched(minutes: Int) -> Watched { Watched(limit: .seconds(60 * minutes)) }
}

/// Ends the process unless it is called off in time.
package struct Watch: Sendable {
    private static let queue = DispatchQueue(label: "watchdog")
    /// Dispatch's own lock guards it.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    package init(_ name: String, _ limit: Duration) {
        timer = DispatchSource.makeTimerSource(queue: Self.queue)
        timer.schedule(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1))))
        timer.setEventHandler {
            FileHandle.standardError.write(Data("watchdog: not over after \(limit): \(name)\n".utf8))
            // No handler of a signal, which a test may have set, is in its way.
            abort()
        }
        timer.resume()
    }

    package func callOff() { timer.cancel() }
}
