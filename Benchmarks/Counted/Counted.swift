internal import SluiceSQLite

/// Runs a core loop of the engine so and so often, for a tool that counts instructions.
///
/// `Benchmarks/check` runs it, twice for each loop, and takes the difference: what one more turn costs.
///
/// ```
/// Counted                    the loops: a name, two counts and what of the process is counted on each line
/// Counted LOOP COUNT FILE    runs one; the file must not exist
/// Counted payload            the payload of all actions
/// Counted version            SQLite's
/// ```
@main
struct Counted {
    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        guard let name = words.first else {
            for loop in Loop.all { print(loop.name, loop.few, loop.many, loop.scope.rawValue) }
            return
        }
        if name == "version" { return print(Connection.libraryVersion) }
        if name == "payload" { return print(try Loop.payload()) }
        guard words.count == 3, let loop = Loop.all.first(where: { $0.name == name }),
            let count = Int(words[2]), (1...loop.many).contains(count)
        else { throw Misuse() }
        try loop.run(loop, count, words[3])
    }

    private struct Misuse: Error {}
}

/// Something that is done over and over.
struct Loop: Sendable {
    /// What of the process is counted.
    enum Scope: String {
        /// What ``countedTurns(_:)`` does, on its thread: the count is the same each time.
        case thread
        /// All threads: in such a loop everything that is not its turns must be the same for each count.
        case process
    }

    let name: String
    /// How often, to tell the cost of one from that of the start.
    var few = 500
    /// The most turns.
    var many = 1_500
    var scope = Scope.thread
    /// The file is there for what needs one.
    let run: @Sendable (_ loop: Loop, _ count: Int, _ file: String) throws -> Void
}

/// What is counted: the tool looks for the name of this function, and counts from its call to its return, on
/// its thread.
@inline(never)
func countedTurns(_ turns: () throws -> Void) rethrows {
    try turns()
}
