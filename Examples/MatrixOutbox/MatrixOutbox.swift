import Foundation

#if CommandLineTool && GRDB
import ArgumentParser

/// A sender of Matrix messages whose rooms are queues: begin reading at `Outbox`.
@main
struct MatrixOutbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice-matrix-outbox",
        abstract: "Keeps messages in a GRDB database and sends them to a Matrix server.",
        subcommands: [
            LogIn.self, Send.self, Run.self, Rooms.self, List.self, Edit.self, Cancel.self, Retry.self,
            Typing.self,
        ]
    )
}
#else
/// Without its traits there is no library that this program could show.
@main
struct MatrixOutbox {
    static func main() {
        FileHandle.standardError.write(Data("use swift run --traits CommandLineTool,GRDB …\n".utf8))
        exit(64)
    }
}
#endif
