#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Copies the file while it is in use.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the file while it is in use; the copy runs at once.",
        discussion: """
            The copy is of one moment, and whoever runs or enqueues goes on meanwhile. What runs in the file \
            waits in the copy, with its attempt given back; dead letters, holds, gates and the application's \
            own tables are in it too. It is readable by its owner only, and stands at its name when all of \
            it is on the disk. What stands there already is left as it is (status 73). With --json: \
            destination, bytes.

            Example:
              sluice backup --file q.sqlite backups/q-monday.sqlite

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(
        help: ArgumentHelp("Where the copy is to stand; its directory must exist.", valueName: "destination"),
        completion: .file()
    )
    var destination: String

    @OptionGroup var output: OutputOption

    func run() async throws {
        try await file.withReader { try await $0.backup(to: destination) }
        let bytes = String(DatabaseFile.byteCount(of: destination) ?? 0)
        output.answer(
            "\(bytes) bytes copied to \(destination)",
            [("destination", JSONText.string(destination)), ("bytes", bytes)]
        )
    }
}
#endif
