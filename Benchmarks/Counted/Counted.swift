internal import SluiceSQLite

/// Runs a core loop of the engine so and so often, for a tool that counts instructions.
///
/// `Benchmarks/check` runs it, twice for each loop, and takes the difference: what one more turn costs. All
/// that is counted happens on the thread of a synchronous `main`, so that the count is the same each time.
///
/// ```
/// Counted                    the loops, a name and two counts on each line
/// Counted LOOP COUNT FILE    runs one; the file must not exist
/// Counted version            SQLite's
/// ```
@main
struct Counted {
    static func main() throws {
        let words = CommandLine.arguments.dropFirst()
        guard let name = words.first else {
            for loop in Loop.all { print(loop.name, loop.counts.few, loop.counts.many) }
            return
        }
        if name == "version" { return print(Connection.libraryVersion) }
        guard words.count == 3, let loop = Loop.all.first(where: { $0.name == name }),
            let count = Int(words[2]), (1...loop.counts.many).contains(count)
        else { throw Misuse() }
        try loop.run(count, words[3])
    }

    private struct Misuse: Error {}
}

/// Something that is done over and over.
struct Loop: Sendable {
    /// The most turns of a loop.
    static let most = 1_500

    let name: String
    /// How often, to tell the cost of one from that of the start.
    var counts = (few: 500, many: most)
    /// The file is there for what needs one.
    let run: @Sendable (_ count: Int, _ file: String) throws -> Void
}

/// What is counted: the tool looks for the name of this function, and counts from its call to its return, on
/// its thread.
@inline(never)
func countedTurns(_ turns: () throws -> Void) rethrows {
    try turns()
}
