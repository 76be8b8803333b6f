#if CommandLineTool && GRDB
import ArgumentParser
import Foundation
import Sluice

struct FileOption: ParsableArguments {
    @Option(help: "The application's database.") var file = "matrix.sqlite"

    func use(_ body: (Outbox) async throws -> Void) async throws {
        let outbox = try await Outbox(file)
        try await body(outbox)
        await outbox.broker.close()
    }
}

struct LogIn: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in with the password in MATRIX_PASSWORD; rooms that wait for a login continue."
    )
    @OptionGroup var options: FileOption
    @Option(help: "Keep it: the server recognizes repeated messages of one device only.")
    var device = "OUTBOX"
    @Argument(help: "The server, such as https://matrix.org.") var server: String
    @Argument(help: "The user.") var user: String

    func run() async throws {
        guard let password = ProcessInfo.processInfo.environment["MATRIX_PASSWORD"] else {
            throw ValidationError("there is no MATRIX_PASSWORD in the environment")
        }
        try await options.use { outbox in
            say(try await outbox.logIn(server, user, password: password, device: device))
        }
    }
}

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Store messages that are to be sent.")
    @OptionGroup var options: FileOption
    @Option(help: "A file that the first message is about.") var attach: String?
    @Argument(help: "The room, such as !abc:example.org; the user must have joined it.") var room: String
    @Argument(help: "The messages.") var texts: [String]

    func run() async throws {
        // Another working directory must not make it another file.
        let path = attach.map { URL(fileURLWithPath: $0).path }
        try await options.use { outbox in
            for (index, text) in texts.enumerated() {
                say(try await outbox.send(text, to: room, file: index == 0 ? path : nil).line)
            }
        }
    }
}

struct Run: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send all, until only stopped rooms are left.")
    @OptionGroup var options: FileOption
    @Option(help: "Seconds after which an answer counts as lost.") var timeout = 30

    func run() async throws {
        try await options.use { outbox in
            try await outbox.run(timeout: timeout) { message in
                // A terminal has the screen.
                if !RoomScreen.isTerminal { say(message.line) }
            }
        }
    }
}

struct Rooms: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Show the rooms and what each waits for.")
    @OptionGroup var options: FileOption
    @Flag(help: "Go on with each change.") var follow = false

    func run() async throws {
        try await options.use { outbox in
            var screen = RoomScreen()
            for try await update in outbox.broker.observe(statuses: "room/*") {
                screen.show(update)
                if !follow { return }
            }
        }
    }
}

struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the messages.")
    @OptionGroup var options: FileOption

    func run() async throws {
        try await options.use { outbox in
            for message in try await outbox.messages() { say(message.line) }
        }
    }
}

struct Edit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Change a message that waits.")
    @OptionGroup var options: FileOption
    @Argument(help: "The message's number.") var id: Int64
    @Argument(help: "The new text.") var text: String

    func run() async throws {
        try await options.use { outbox in
            guard try await outbox.edit(id, to: text) else { throw ValidationError(tooLate(id)) }
        }
    }
}

struct Cancel: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Delete a message that waits.")
    @OptionGroup var options: FileOption
    @Argument(help: "The message's number.") var id: Int64

    func run() async throws {
        try await options.use { outbox in
            guard try await outbox.cancel(id) else { throw ValidationError(tooLate(id)) }
        }
    }
}

struct Retry: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Try all again that waits, stopped or failed.")
    @OptionGroup var options: FileOption

    func run() async throws { try await options.use { try await $0.retryAll() } }
}

struct Typing: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Send nothing to a room for some seconds.")
    @OptionGroup var options: FileOption
    @Option(help: "For how long.") var seconds = 10
    @Argument(help: "The room.") var room: String

    func run() async throws { try await options.use { try await $0.pause(room, for: .seconds(seconds)) } }
}

private func tooLate(_ id: Int64) -> String { "message \(id) is unknown, or the server may have it already" }

/// Writes a line at once, also into a pipe.
private func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
#endif
