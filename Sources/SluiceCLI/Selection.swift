#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// What a listing shows.
struct Selection: ParsableArguments {
    @Option(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var queue = "*"

    @Option(help: ArgumentHelp("The most that are listed.", valueName: "number"))
    var limit = 1_000

    var pattern: QueuePattern { QueuePattern(queue) }

    /// One more than is shown, so that it is seen whether something is left out.
    var readLimit: Int { limit + 1 }

    func validate() throws {
        guard (1...10_000_000).contains(limit) else {
            throw ValidationError("--limit is \(limit); give 1 to 10,000,000")
        }
    }

    /// What is shown of what was read; says so when something is left out.
    func cut<Element>(_ found: [Element], named name: String) -> ArraySlice<Element> {
        if found.count > limit {
            Terminal.remark("there are more than \(limit) \(name); --limit shows more")
        }
        return found.prefix(limit)
    }
}
#endif
