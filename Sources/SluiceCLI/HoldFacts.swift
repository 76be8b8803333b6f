#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Who holds queues, why and for how long.
struct HoldFacts: ParsableArguments {
    @Option(help: ArgumentHelp("Who holds; without it, the name of the user.", valueName: "name"))
    var by: String?

    @Option(help: ArgumentHelp("Why, for others.", valueName: "text"))
    var reason = ""

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("When the hold ends: 90s, 15m, 2h, 1d.", valueName: "span")
    )
    var span: Span?

    func validate() throws {
        if span?.duration == .zero { throw ValidationError("--for is 0: nothing would be held") }
    }

    /// Holds queues.
    ///
    /// - Returns: The answer, which is the hold's number, and the holds that all of them had already.
    func hold(
        _ pattern: QueuePattern,
        in store: StoreOption
    ) async throws -> (answer: ActAnswer, earlier: [Sluice.Hold]) {
        let holder = by ?? Self.user
        let form = try pattern.form()
        return try await store.withBroker { broker in
            let earlier = try await broker.holds().filter { hold in
                guard case .exact(let queue) = form else { return hold.pattern == pattern }
                return try hold.pattern.form().matches(queue)
            }
            if pattern != .all {
                try await broker.remarkIfNone(matches: [pattern], ": the hold applies to those that will")
            }
            let act = Act.hold(pattern, by: holder, reason: reason, for: span?.duration)
            return (try await act.answer(try await broker.perform(act), broker), earlier)
        }
    }

    /// Holds queues, and answers with a sentence.
    func answerPause(_ pattern: QueuePattern, in store: StoreOption, _ output: OutputOption) async throws {
        let (answer, earlier) = try await hold(pattern, in: store)
        let others = earlier.map { "hold \($0.id) by \($0.holder)" }.joined(separator: ", ")
        output.answer(
            "\(pattern) is paused by hold \(answer.sentence)"
                + (others.isEmpty ? "" : ", and was before by \(others)"),
            answer.members
        )
    }

    /// The name of the current user.
    static var user: String {
        guard let entry = getpwuid(getuid()), let name = entry.pointee.pw_name else {
            return "uid \(getuid())"
        }
        return String(cString: name)
    }
}
#endif
