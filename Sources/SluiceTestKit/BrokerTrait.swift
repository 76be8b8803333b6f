#if canImport(Testing)
public import Sluice
public import Testing

extension Trait where Self == BrokerTrait {
    /// Gives each test a broker of its own, ``TestBroker/current``, and checks its history at the end.
    ///
    /// ```swift
    /// @Suite("Sending", .broker(.file)) struct SendingTests {
    ///     @Test("A message that cannot be sent is tried again") func retry() async throws {
    ///         let test = try TestBroker.current
    ///         …
    ///     }
    /// }
    /// ```
    ///
    /// Violations in the history (``TestBroker/violations``) fail the test. A failed test gets the history as
    /// the attachment `events.txt`, with the state of the broker at the end (``TestBroker/standing()``). The
    /// broker is closed after the test.
    ///
    /// - Parameters:
    ///   - storage: Where the queues are kept.
    ///   - options: The broker's options; the clock is always a ``ManualClock``.
    ///   - setUp: Adds routes that all tests share, also after a ``TestBroker/restart()``.
    public static func broker(
        _ storage: TestBroker.Storage = .memory,
        options: BrokerOptions = BrokerOptions(),
        setUp: @escaping @Sendable (Broker) throws -> Void = { _ in }
    ) -> BrokerTrait {
        BrokerTrait(storage: storage, options: options, setUp: setUp)
    }
}

/// Gives each test a broker of its own: see `broker(_:options:setUp:)`.
public struct BrokerTrait: TestTrait, SuiteTrait, TestScoping {
    let storage: TestBroker.Storage
    let options: BrokerOptions
    let setUp: @Sendable (Broker) throws -> Void

    /// A suite passes it to its tests.
    public var isRecursive: Bool { true }

    /// Each case of a test has a broker of its own.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> BrokerTrait? {
        testCase == nil ? nil : self
    }

    /// Runs one case of a test with its broker.
    @concurrent public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let broker = try await TestBroker(storage, options: options, setUp: setUp)
        let issues = EventLog<Void>()
        let watching = IssueHandlingTrait.compactMapIssues { issue in
            issues.append(())
            return issue
        }
        let result: Result<Void, any Error>
        do {
            try await watching.provideScope(for: test, testCase: testCase) {
                try await TestBroker.$scoped.withValue(broker) { try await function() }
                await broker.events.catchUp()
                for violation in broker.violations {
                    Issue.record("\(violation)")
                }
            }
            result = .success(())
        } catch {
            issues.append(())
            result = .failure(error)
        }
        await broker.events.catchUp()
        if !issues.elements.isEmpty {
            let standing: String
            do { standing = try await broker.standing() } catch { standing = "\(error)" }
            let name = test.displayName ?? test.name
            Attachment.record("\(name)\n\n\(broker.events.history)\n\n\(standing)\n", named: "events.txt")
        }
        do {
            try await broker.close()
        } catch {
            // An error of the test itself takes precedence.
            try result.get()
            throw error
        }
        try result.get()
    }
}

extension TestBroker {
    @TaskLocal fileprivate static var scoped: TestBroker?

    /// The test has no broker: give it the trait `broker(_:options:setUp:)`.
    public struct NoBroker: Error, CustomStringConvertible {
        /// What to do about it.
        public let description = "the test has no broker: give it or its suite the trait .broker(…)"
    }

    /// The broker of the current test.
    ///
    /// - Throws: ``NoBroker`` without the trait, and in tasks that do not inherit the test's values.
    public static var current: TestBroker {
        get throws(NoBroker) {
            guard let scoped else { throw NoBroker() }
            return scoped
        }
    }
}
#endif
