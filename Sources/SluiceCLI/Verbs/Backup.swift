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

    @OptionGroup var store: StoreOption

    @Argument(
        help: ArgumentHelp("The path of the copy; its directory must exist.", valueName: "destination"),
        completion: .file()
    )
    var destination: String

    @OptionGroup var output: OutputOption

    private static let advice =
        "copy a server's database with pg_dump, or its queues with `sluice export`"

    func validate() throws { _ = try store.path(orAdvise: Self.advice) }

    func run() async throws {
        let path = try store.path(orAdvise: Self.advice)
        try StoreOption.check(path)
        var options = BrokerOptions()
        options.file.role = .readOnly
        options.file.makesMissing = false
        let broker = try await Broker(file: path, options: options)
        do {
            try await broker.file?.backup(to: destination)
            await broker.close()
        } catch {
            await broker.close()
            throw error
        }
        let bytes = String(DatabaseFile.byteCount(of: destination) ?? 0)
        output.answer(
            "\(bytes) bytes copied to \(destination)",
            [("destination", JSONText.string(destination)), ("bytes", bytes)]
        )
    }
}
#endif
