#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// The queues that a verb acts on, which must be named, so that a slip does not act on all.
struct Scope: ParsableArguments {
    @Option(
        help: ArgumentHelp("A queue's name, or a prefix that ends in /*.", valueName: "pattern"),
        completion: .queueNames
    )
    var queue: String?

    @Flag(help: "Every queue.")
    var all = false

    /// The pattern; `nil` when none is named.
    var pattern: QueuePattern? { all ? .all : queue.map { QueuePattern($0) } }

    func validate() throws {
        if all && queue != nil { throw ValidationError("--queue and --all exclude each other") }
    }

    /// Returns the queues, for a verb that requires them and takes them as an argument too.
    func required(_ argument: String?) throws -> QueuePattern {
        guard let argument else {
            guard let pattern else { throw ValidationError("give a queue, or --all") }
            return pattern
        }
        guard pattern == nil else { throw ValidationError("give the queues once: \(argument), or an option") }
        return QueuePattern(argument)
    }
}

extension RawRepresentable<Int64> {
    /// Whether a word could be such a number.
    static func isArgument(_ word: String) -> Bool { (try? argument(word)) != nil }

    /// Reads the number of an action or a hold from the command line.
    static func argument(_ word: String) throws -> Self {
        guard let number = Int64(word), number > 0, let id = Self(rawValue: number) else {
            throw ValidationError("'\(word)' is no number as the tool shows it")
        }
        return id
    }
}

extension QueueName {
    /// Reads the name of one queue from the command line.
    static func argument(_ word: String) throws -> QueueName {
        guard case .exact(let queue) = try QueuePattern(word).form() else {
            throw ValidationError(
                "'\(word)' names several queues, give one; `sluice queues --queue '\(word)'` lists them"
            )
        }
        return queue
    }
}

extension QueuePattern.Form {
    /// Whether some queue can match both.
    func overlaps(_ other: Self) -> Bool {
        switch (self, other) {
        case (.exact(let queue), _): other.matches(queue)
        case (_, .exact(let queue)): matches(queue)
        case (.prefix(let own), .prefix(let others)): own.starts(with: others) || others.starts(with: own)
        }
    }
}
#endif
