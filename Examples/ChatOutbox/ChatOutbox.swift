import Foundation

#if CommandLineTool && GRDB
import ArgumentParser
import GRDB
import Sluice

/// A chat's outbox in a GRDB database: where to begin reading is `Outbox`.
@main
struct ChatOutbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sluice-chat-outbox",
        abstract: "Keeps messages in a GRDB database and sends them to a pretended, unreliable server.",
        subcommands: [Send.self, Run.self, List.self, Retract.self]
    )
}

struct FileOption: ParsableArguments {
    @Option(help: "The application's database.") var file = "chat.sqlite"

    func use(_ body: (Outbox) async throws -> Void) async throws {
        let outbox = try await Outbox(file)
        try await body(outbox)
        await outbox.broker.close()
    }
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Store messages that are to be sent.")
    @OptionGroup var options: FileOption
    @Argument(help: "The conversation.") var conversation: String
    @Argument(help: "The messages.") var texts: [String]

    func run() async throws {
        try await options.use { outbox in
            for text in texts { say("stored", try await outbox.send(text, to: conversation)) }
        }
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send what waits, until nothing is left.")
    @OptionGroup var options: FileOption

    func run() async throws {
        try await options.use { try await $0.run { say("sent", $0) } }
    }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the messages and what they wait for.")
    @OptionGroup var options: FileOption
    @Flag(help: "Go on with each change.") var follow = false

    func run() async throws { try await options.use { try await $0.list(follow: follow, show: say) } }
}

struct Retract: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Delete a message, sent or not.")
    @OptionGroup var options: FileOption
    @Argument(help: "The message's number.") var id: Int64

    func run() async throws {
        try await options.use { outbox in
            let isDeleted = try await outbox.pool.write { [id] in try Message.deleteOne($0, id: id) }
            guard isDeleted else { throw ValidationError("there is no message \(id)") }
        }
    }
}

/// Writes a line at once, also into a pipe.
private func say(_ word: String, _ message: Message) {
    let line = "\(message.id ?? 0) \(message.conversation) [\(word)] \(message.text)\n"
    FileHandle.standardOutput.write(Data(line.utf8))
}
#else
/// Without its traits there is no library that this program could show.
@main
struct ChatOutbox {
    static func main() {
        FileHandle.standardError.write(Data("use swift run --traits CommandLineTool,GRDB …\n".utf8))
        exit(64)
    }
}
#endif
