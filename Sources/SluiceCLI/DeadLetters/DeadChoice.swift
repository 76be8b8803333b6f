#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The dead letters that a verb acts on: by number, or all of some queues.
struct DeadChoice: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The numbers of dead letters.", valueName: "id"),
        transform: ActionID.argument
    )
    var ids: [ActionID] = []

    @OptionGroup var scope: Scope

    @Option(
        help: FailureCause.help,
        completion: FailureCause.completion,
        transform: FailureCause.argument
    )
    var cause: FailureCause?

    func validate() throws {
        guard ids.isEmpty == (scope.pattern != nil) else {
            throw ValidationError("give numbers of dead letters, or one of --queue and --all")
        }
        if cause != nil && !ids.isEmpty { throw ValidationError("--cause needs --queue or --all") }
    }

    /// Returns the number of dead letters with their verb.
    static func counted(_ count: Int) -> String {
        count == 1 ? "1 dead letter is" : "\(count) dead letters are"
    }
}

extension FailureCause {
    private static let words = allCases.map(\.rawValue)

    static var help: ArgumentHelp {
        ArgumentHelp("Only with this cause: \(words.joined(separator: ", ")).", valueName: "cause")
    }

    static var completion: CompletionKind { .list(words) }

    /// Reads a cause from the command line.
    static func argument(_ word: String) throws -> FailureCause {
        guard let cause = FailureCause(rawValue: word) else {
            throw ValidationError("'\(word)' is no cause; give one of \(words.joined(separator: ", "))")
        }
        return cause
    }
}
#endif
