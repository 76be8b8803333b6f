public import Sluice
internal import Synchronization

/// A handler that does what a test has written down, one step for each call.
///
/// ```swift
/// let sender = ScriptedHandler<SendMessage>(.throws(Offline()), .returns(.retry(after: .seconds(30))))
/// try broker.route("conversation/*", to: sender)
/// …
/// #expect(sender.calls.elements.map(\.attempt.number) == [1, 2, 3])
/// ```
///
/// The steps are taken in the order of the calls, whatever queue they are for; give each queue a handler of
/// its own where that matters.
public final class ScriptedHandler<Input: Action>: Handler {
    /// What one call does.
    public struct Step: Sendable {
        let perform: @Sendable (Input, Attempt) async throws -> Outcome

        /// Returns an outcome.
        public static func returns(_ outcome: Outcome) -> Step { Step { _, _ in outcome } }

        /// Throws an error.
        public static func `throws`(_ error: any Error) -> Step { Step { _, _ in throw error } }

        /// Runs code of the test's.
        public static func runs(
            _ body: @escaping @Sendable (Input, Attempt) async throws -> Outcome
        ) -> Step {
            Step(perform: body)
        }
    }

    /// What a call was made with.
    public struct Call: Sendable {
        /// The action.
        public let action: Input
        /// Which attempt it is, and the idempotency key.
        public let attempt: Attempt
    }

    /// The calls so far, in their order.
    public let calls = EventLog<Call>()
    private let rest: Mutex<ArraySlice<Step>>
    private let last: Step

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - steps: What the first calls do.
    ///   - last: What every call behind them does.
    public init(_ steps: Step..., then last: Step = .returns(.success)) {
        rest = Mutex(steps[...])
        self.last = last
    }

    /// Notes the call and takes the next step.
    public func handle(_ action: Input, _ attempt: Attempt) async throws -> Outcome {
        // Together, so that the calls stand in the order of their steps.
        let step = rest.withLock { rest in
            calls.append(Call(action: action, attempt: attempt))
            return rest.popFirst() ?? last
        }
        return try await step.perform(action, attempt)
    }
}
