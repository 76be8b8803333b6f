public import Sluice
internal import Synchronization

/// A handler that follows a test's script, one step for each call.
///
/// ```swift
/// let sender = ScriptedHandler<SendMessage>(.throws(Offline()), .returns(.retry(after: .seconds(30))))
/// try broker.route("conversation/*", to: sender)
/// …
/// #expect(sender.calls.elements.map(\.attempt.number) == [1, 2, 3])
/// ```
///
/// The steps follow the order of the calls over all queues; if that matters, use a handler for each queue.
public final class ScriptedHandler<Input: Action>: Handler {
    /// The behaviour of one call.
    public struct Step: Sendable {
        let perform: @Sendable (Input, Attempt) async throws -> Outcome

        /// Returns an outcome.
        public static func returns(_ outcome: Outcome) -> Step { Step { _, _ in outcome } }

        /// Throws an error.
        public static func `throws`(_ error: any Error) -> Step { Step { _, _ in throw error } }

        /// Runs code of the test.
        public static func runs(
            _ body: @escaping @Sendable (Input, Attempt) async throws -> Outcome
        ) -> Step {
            Step(perform: body)
        }
    }

    /// The arguments of a call.
    public struct Call: Sendable {
        /// The action.
        public let action: Input
        /// The attempt, with its idempotency key.
        public let attempt: Attempt
    }

    /// The calls so far, in their order.
    public let calls = EventLog<Call>()
    private let rest: Mutex<ArraySlice<Step>>
    private let last: Step

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - steps: The steps of the first calls.
    ///   - last: The step of every later call.
    public init(_ steps: Step..., then last: Step = .returns(.success)) {
        rest = Mutex(steps[...])
        self.last = last
    }

    /// Notes the call and performs the next step.
    public func handle(_ action: Input, _ attempt: Attempt) async throws -> Outcome {
        // Under one lock, so that the calls have the order of their steps.
        let step = rest.withLock { rest in
            calls.append(Call(action: action, attempt: attempt))
            return rest.popFirst() ?? last
        }
        return try await step.perform(action, attempt)
    }
}
