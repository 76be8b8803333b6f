#if GRDB
import Foundation
import Sluice

/// The outbox for the command line.
@main
enum ChatOutbox {
    private static let usage = """
        usage: login <account> <url> | logout <account> | run <url> | list <account> [--follow]
               send <account> <conversation> <text> [<file>] | edit <message> <text> | delete <message>
        """

    static func main() async {
        do {
            try await perform(Array(CommandLine.arguments.dropFirst()))
        } catch {
            fail("\(error)", status: 1)
        }
    }

    private static func perform(_ arguments: [String]) async throws {
        let outbox = try await Outbox.open("chat.sqlite")
        switch (arguments.first, arguments.count) {
        case ("login", 3):
            try await outbox.logIn(arguments[1], try server(at: arguments[2]))
        case ("logout", 2):
            try await outbox.logOut(Account(id: arguments[1]))
        case ("send", 4), ("send", 5):
            let file = arguments.count == 5 ? URL(fileURLWithPath: arguments[4]).path : nil
            let message = try await outbox.send(
                arguments[3],
                to: arguments[2],
                of: arguments[1],
                attachment: file
            )
            say(message.id)
        case ("edit", 3):
            if try await !outbox.edit(arguments[1], to: arguments[2]) { fail("there is no such message") }
        case ("delete", 2):
            if try await !outbox.delete(arguments[1]) { fail("there is no such message") }
        case ("list", 2): try await list(outbox, Account(id: arguments[1]))
        case ("list", 3): try await follow(outbox, Account(id: arguments[1]))
        case ("run", 2): try await run(outbox, try server(at: arguments[1]))
        default: fail(usage)
        }
        await outbox.broker.close()
    }

    /// Sends until nothing is left.
    private static func run(_ outbox: Outbox, _ server: HTTPChatServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await outbox.run(server) }
            group.addTask {
                for try await _ in outbox.broker.observe(statuses: "chat/*") {
                    if try await outbox.broker.statuses().isEmpty { return }
                }
            }
            // Nothing is left, or a call has failed.
            try await group.next()
            group.cancelAll()
        }
    }

    private static func list(_ outbox: Outbox, _ account: Account) async throws {
        for line in try await outbox.lines(of: account) { say(text(of: line)) }
    }

    private static func follow(_ outbox: Outbox, _ account: Account) async throws {
        var shown: [String: Delivery] = [:]
        try await outbox.follow(account) { lines in
            for line in lines where shown.updateValue(line.delivery, forKey: line.id) != line.delivery {
                say(text(of: line))
            }
        }
    }

    private static func text(of line: Line) -> String {
        let word =
            switch line.delivery {
            case .sent: "sent"
            case .sending: "sending"
            case .waiting: "waiting"
            case .retrying(let date): "trying again at \(date)"
            case .refused(let reason): "not sent: \(reason)"
            }
        return "\(line.message.conversation) [\(word)] \(line.message.text)"
    }

    private static func server(at text: String) throws -> HTTPChatServer {
        guard let url = URL(string: text), url.host != nil else { fail("\(text) is no address of a server") }
        return HTTPChatServer(url: url)
    }

    /// Writes a line at once, also into a pipe.
    private static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    private static func fail(_ sentence: String, status: Int32 = 64) -> Never {
        FileHandle.standardError.write(Data("\(sentence)\n".utf8))
        exit(status)
    }
}
#else
@main
enum ChatOutbox {
    static func main() { print("use swift run --traits GRDB …") }
}
#endif
