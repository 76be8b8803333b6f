#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Options that select the rows of a listing.
struct Selection: ParsableArguments {
    @OptionGroup var queues: ShownQueues

    @Option(help: ArgumentHelp("The most that are listed.", valueName: "number"))
    var limit = 1_000

    var pattern: QueuePattern { queues.pattern }

    /// One more than is shown, to see whether rows are left out.
    var readLimit: Int { limit + 1 }

    func validate() throws {
        guard (1...10_000_000).contains(limit) else {
            throw ValidationError("--limit is \(limit); give 1 to 10,000,000")
        }
    }

    /// Returns the rows to show; reports when rows are left out.
    func cut<Element>(_ found: [Element], named name: String) -> ArraySlice<Element> {
        if found.count > limit {
            Terminal.remark("there are more than \(limit) \(name); --limit shows more")
        }
        return found.prefix(limit)
    }
}
#endif
