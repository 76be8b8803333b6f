import Foundation
import Sluice

/// A chat's outbox for the command line: where to begin reading is `Outbox`.
@main
enum ChatOutbox {
    #if GRDB
    static func main() async {
        do {
            try await perform(Array(CommandLine.arguments.dropFirst()))
        } catch {
            fail("\(error)", status: 1)
        }
    }

    private static func perform(_ arguments: [String]) async throws {
        let outbox = try await Outbox("chat.sqlite")
        switch arguments.first {
        case "send" where arguments.count > 2:
            for text in arguments[2...] { say("stored", try await outbox.send(text, to: arguments[1])) }
        case "run": try await outbox.run { say("sent", $0) }
        case "list": try await outbox.list(follow: arguments.contains("--follow"), show: say)
        case "retract" where arguments.count == 2:
            let isDeleted = try await outbox.retract(Int64(arguments[1]) ?? 0)
            if !isDeleted { fail("there is no message \(arguments[1])") }
        default: fail("usage: send <conversation> <text>... | run | list [--follow] | retract <number>")
        }
        await outbox.broker.close()
    }

    /// Writes a line at once, also into a pipe.
    private static func say(_ word: String, _ message: Message) {
        let line = "\(message.id ?? 0) \(message.conversation) [\(word)] \(message.text)\n"
        FileHandle.standardOutput.write(Data(line.utf8))
    }
    #else
    static func main() { fail("use swift run --traits GRDB …") }
    #endif

    private static func fail(_ sentence: String, status: Int32 = 64) -> Never {
        FileHandle.standardError.write(Data("\(sentence)\n".utf8))
        exit(status)
    }
}
