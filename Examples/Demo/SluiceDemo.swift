#if CommandLineTool
import ArgumentParser
import Foundation

/// Ten conversations, sent through Sluice to a server that fails, by a worker that is killed.
///
/// Where to begin reading: `SendMessage` is what is enqueued, `Worker` is all that a user of Sluice has to
/// write, `Performance` is the course of events, and `Checker` judges it.
@main
struct SluiceDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice-demo",
        abstract: "Chats over a flaky network, is killed once and resumed, and checks that nothing was lost.",
        usage: "sluice-demo [--seed <seed>] [--postgres <address>] [--plain] [--keep]",
        subcommands: [Worker.self]
    )

    @Option(help: "What befalls each message follows from this number. (default: random)") var seed: UInt64?
    @Option(help: "Keep the queues in this PostgreSQL database, in the schema \(Outbox.schema).")
    var postgres: String?
    @Flag(help: "Print plain lines, on a terminal too.") var plain = false
    @Flag(help: "Keep the file of queues and the server's log, and say where they are.") var keep = false

    func run() async throws {
        let seed = seed ?? .random(in: 1...9_999)
        let stage = try Stage(server: postgres)
        if keep { announce(stage) }
        let isPlain = plain
        let show = Task {
            let terminal = isPlain ? nil : Terminal()
            let screen: any Screen = terminal.map(LaneScreen.init) ?? PlainScreen()
            let performance = try await Performance(on: stage, seed: seed, screen: screen)
            return try await performance.run()
        }
        let interruption = Interruption { show.cancel() }
        let result = await show.result
        interruption.end()
        try leave(stage)
        guard !show.isCancelled else {
            Output.write("Interrupted.\n")
            throw ExitCode(128 + SIGINT)
        }
        guard try result.get() else { throw ExitCode.failure }
    }

    private func announce(_ stage: Stage) {
        Output.write(
            """
            What the queues wait for is in their \(stage.place). While this runs, ask from another terminal:
                \(stage.question)


            """
        )
    }

    private func leave(_ stage: Stage) throws {
        guard keep else { return try stage.remove() }
        Output.write(
            """

            Kept in \(stage.folder): the server's log. To look at the \(stage.place) of queues:
                \(stage.question)
            It shows each queue that has work, so nothing when all has been sent.

            """
        )
    }
}
#else
import Foundation

/// Without the trait nothing that parses arguments or starts processes is fetched.
@main
struct SluiceDemo {
    static func main() {
        let hint = "sluice-demo: built without its trait; use swift run --traits CommandLineTool …\n"
        FileHandle.standardError.write(Data(hint.utf8))
        exit(64)
    }
}
#endif
