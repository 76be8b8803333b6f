#if CommandLineTool && GRDB
import ArgumentParser
import Foundation
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
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Store messages that are to be sent.")

    @OptionGroup var options: FileOption
    @Argument(help: "The conversation.") var conversation: String
    @Argument(help: "The messages.") var texts: [String]

    func run() async throws {
        let outbox = try await Outbox(options.file)
        for text in texts { say("stored", try await outbox.send(text, to: conversation)) }
        await outbox.broker.close()
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send what waits, until nothing is left.")

    @OptionGroup var options: FileOption

    func run() async throws {
        let outbox = try await Outbox(options.file)
        try await outbox.run(to: PretendedServer()) { say("sent", $0) }
        await outbox.broker.close()
    }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the messages and what they wait for.")

    @OptionGroup var options: FileOption

    func run() async throws {
        let outbox = try await Outbox(options.file)
        for (message, state) in try await outbox.list() { say(state, message) }
        await outbox.broker.close()
    }
}

struct Retract: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Delete a message, sent or not.")

    @OptionGroup var options: FileOption
    @Argument(help: "The message's number.") var id: Int64

    func run() async throws {
        let outbox = try await Outbox(options.file)
        let isDeleted = try await outbox.retract(id)
        await outbox.broker.close()
        guard isDeleted else { throw ValidationError("there is no message \(id)") }
    }
}

/// Writes a line at once, also into a pipe.
private func say(_ state: String, _ message: Message) {
    let line = "\(message.id ?? 0) \(message.conversation) [\(state)] \(message.text)\n"
    FileHandle.standardOutput.write(Data(line.utf8))
}
#else
import Foundation

/// Without its traits there is no library that this program could show.
@main
struct ChatOutbox {
    static func main() {
        let hint =
            "sluice-chat-outbox: built without its traits; use swift run --traits CommandLineTool,GRDB …\n"
        FileHandle.standardError.write(Data(hint.utf8))
        exit(64)
    }
}
#endif
