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
        let name = "\(test.displayName ?? test.name) (\(place.fileID):\(place.line))"
        let (watch, start) = (Watch(name, limit), ContinuousClock.now)
        defer {
            watch.callOff()
            Self.times?.add(name, start.duration(to: .now))
        }
        try await function()
    }

    /// Where `.ci/test` wants the time of each test: that of a report has the wait for its turn in it.
    private static let times = ProcessInfo.processInfo.environment["SLUICE_TEST_TIMES"].flatMap(Times.init)
}

/// A file with a line for each test: its seconds and its name.
private final class Times: Sendable {
    /// For additions alone, which the system does whole.
    private let descriptor: CInt

    init?(path: String) {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func add(_ name: String, _ duration: Duration) {
        let line = "\(duration / .seconds(1))\t\(name)\n"
        _ = line.withCString { write(descriptor, $0, strlen($0)) }
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

    /// - Parameter printsStacks: Whether GDB, if it is there, prints the stacks of all threads first.
    package init(_ name: String, _ limit: Duration, printsStacks: Bool = true) {
        timer = DispatchSource.makeTimerSource(queue: Self.queue)
        timer.schedule(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1))))
        timer.setEventHandler {
            FileHandle.standardError.write(Data("watchdog: not over after \(limit): \(name)\n".utf8))
            if printsStacks { Self.printStacks() }
            // No handler of a signal, which a test may have set, is in its way.
            abort()
        }
        timer.resume()
    }

    package func callOff() { timer.cancel() }

    /// Swift's own backtrace at a crash has the stack of one thread alone.
    private static func printStacks() {
        let debugger = Process()
        debugger.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let commands = ["-ex", "set pagination off", "-ex", "thread apply all bt 30"]
        // This process stands still for as long as GDB is attached, which once was for ever.
        let limit = ["timeout", "--signal=KILL", "60"]
        debugger.arguments = limit + ["gdb", "-batch", "-p", "\(getpid())"] + commands
        debugger.standardOutput = FileHandle.standardError
        do {
            try debugger.run()
            debugger.waitUntilExit()
        } catch {
            FileHandle.standardError.write(Data("watchdog: no stacks, as GDB cannot be run: \(error)\n".utf8))
        }
    }
}
