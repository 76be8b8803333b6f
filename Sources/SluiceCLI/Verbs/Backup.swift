#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Copies the file while it is in use.
struct Backup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Copy the file while it is in use; the copy runs at once.",
        discussion: """
            The copy is of one moment; other processes can run and enqueue in the meantime. Running actions \
            wait in the copy, with their attempts given back. Dead letters, holds, gates and the \
            application's own tables are copied too. Only the owner can read the copy. It gets its name when \
            all of it is on the disk, and never replaces an existing file (status 73). With --json: \
            destination, bytes.

            Example:
              sluice backup --file q.sqlite backups/q-monday.sqlite

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Argument(
        help: ArgumentHelp("The path of the copy; its directory must exist.", valueName: "destination"),
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
