internal import ArgumentParser
internal import Sluice

/// Enqueues the actions of an export.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Enqueue the actions that `sluice export` wrote.",
        discussion: """
            Each line is an object with queue, kind and payload, and perhaps sort_type (arrival, integer, \
            date, real or text) and sort_key, version, tag, gate, not_before, expires_at and trace; id is \
            not read. The actions are enqueued in the order of the lines, behind what is there, with numbers \
            and idempotency keys of their own and no attempts. Lines are stored in batches; empty ones are \
            passed over.

            The first line that is refused ends the import: the lines before it are stored, and the message \
            says how to go on. With --skip-bad all others are stored. With --json the answer is an object: \
            enqueued, refused.

            Example:
              sluice import --file other.sqlite --from mail.jsonl

            \(ExitStatus.help)
            """
    )

    @OptionGroup var file: FileOption

    @Option(
        help: ArgumentHelp("The lines; - is standard input.", valueName: "path"),
        completion: .file()
    )
    var from: String

    @Flag(help: "Pass over lines that are refused; each is reported.")
    var skipBad = false

    @Option(help: ArgumentHelp("The line to begin with, counted from 1.", valueName: "number"))
    var firstLine = 1

    @Option(help: ArgumentHelp("The most lines stored at once.", valueName: "lines"))
    var batchSize = 1_000

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (1...100_000).contains(batchSize) else {
            throw ValidationError("--batch-size is \(batchSize); give 1 to 100,000")
        }
        guard firstLine >= 1 else { throw ValidationError("--first-line is \(firstLine); give 1 or more") }
    }

    func run() async throws {
        // A payload at its limit has room for the other fields beside it.
        let lineLimit = BrokerOptions().maximumPayloadByteCount + 64 * 1_024
        var reader = try LineReader(path: from, maximumByteCount: lineLimit)
        defer { reader.close() }
        let broker = try await file.openToEnqueue()
        var importer = Importer(
            .init(
                make: { bytes throws(Refusal) in try TransferLine.action(bytes) },
                store: { _ = try await broker.take($0) },
                batchSize: batchSize,
                firstLine: firstLine,
                passesOverRefused: skipBad
            )
        )
        do {
            try await importer.run(&reader)
        } catch {
            await broker.close()
            Terminal.remark("stopped at line \(importer.line): \(importer.enqueued) enqueued")
            throw error
        }
        await broker.close()
        output.answer(
            "\(importer.enqueued) enqueued, \(importer.refused) refused",
            [("enqueued", String(importer.enqueued)), ("refused", String(importer.refused))]
        )
        if importer.refused > 0 { throw Failure(.refused) }
    }
}
