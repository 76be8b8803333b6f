#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Enqueues the actions of an export, or of another library's folder.
struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Enqueue what `sluice export` wrote, or another library's queue.",
        discussion: """
            LINES. Each line is an object with queue, kind and payload, and perhaps sort_type (arrival, \
            integer, date, real, text, or of several parts composite:date,integer) and sort_key, version, \
            tag, gate, not_before, expires_at, starts_groups and member_of (arrays of names) and trace; id \
            is not read. The actions are \
            enqueued in the order of the lines, after the existing ones, with new numbers and idempotency \
            keys and no attempts. Lines are stored in batches, within a second; empty lines are skipped, and \
            signals end the import, as in `sluice enqueue --from`.

            The first refused line ends the import: the lines before it are stored, and the message says how \
            to continue. With --skip-bad all others are stored.

            WITH --postgres a line is refused if the server cannot hold it: with groups, with a time outside \
            the years 1 to 9999, or with a version above 2147483647. A folder needs a file: import it there, \
            and export the file.

            FOLDERS. With --format auto the contents of a folder decide how it is read:
              customer-io  the folder of the iOS SDK's queue, with inventory.json
                           and tasks, or the folder around it, with queue
              cute         the folder of one queue of Cute, with a file a job

            The app that writes to a folder must not run during the import. The order is that of \
            Customer.io's inventory; for Cute it is that of the jobs' dates, by which Cute loads them. The \
            actions are enqueued after the existing ones, all in one queue: --queue, otherwise customer-io \
            or the name of Cute's folder. Their kind is --kind, otherwise the task's type or the job's \
            action (job, if that is empty). The payload of a task is its data, that of a job its whole file. \
            Runs count as attempts; an entry's groups and time become those of its action.

            Each entry that cannot be read is reported with the reason, and the others are stored. Files \
            that are not entries, such as a task that the inventory does not name, are reported and ignored. \
            Tasks that Customer.io would have deleted for their age are imported. Nothing in the folder is \
            changed, and links in it are not followed. A repeated import stores only entries that are new in \
            the same queue: entries are known, by their names alone, for 90 days after their actions have \
            ended. Import folders with different jobs of one name into separate queues.

            With --json: enqueued, refused; for a folder also known and ignored.

            Examples:
              sluice import --file other.sqlite --from mail.jsonl
              sluice import --file q.sqlite --from backup/io.customer/SITE/queue
              sluice import --file q.sqlite --from backup/Cute/Queues/Uploads

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Option(
        help: ArgumentHelp("The lines, or a folder; - is lines of standard input.", valueName: "path"),
        completion: .file()
    )
    var from: String

    @Option(help: ArgumentHelp("auto, lines, customer-io or cute.", valueName: "format"))
    var format = ImportFormat.auto

    @Option(help: ArgumentHelp("Of a folder: the queue.", valueName: "name"), completion: .queueNames)
    var queue: String?

    @Option(help: ArgumentHelp("Of a folder: the kind of all actions.", valueName: "name"))
    var kind: String?

    @Flag(help: "Of lines: skip refused lines; each is reported.")
    var skipBad = false

    @Option(help: ArgumentHelp("Of lines: the first one to import, counted from 1.", valueName: "number"))
    var firstLine = 1

    @Option(help: ArgumentHelp("The most actions stored at once.", valueName: "number"))
    var batchSize = 1_000

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (1...100_000).contains(batchSize) else {
            throw ValidationError("--batch-size is \(batchSize); give 1 to 100,000")
        }
        guard firstLine >= 1 else { throw ValidationError("--first-line is \(firstLine); give 1 or more") }
    }

    func run() async throws {
        let source = try ImportSource(from, as: format)
        if var reader = try FolderReader(source, kind: kind) {
            guard !store.isServer else {
                throw Failure(
                    .usage,
                    "a folder is imported into a file: then `sluice export --file` and "
                        + "`sluice import --postgres` move its actions to the server"
                )
            }
            guard !skipBad && firstLine == 1 else {
                throw Failure(.usage, "--skip-bad and --first-line are for lines, not for a folder")
            }
            try await enqueueEntries(of: &reader, in: queueName(for: source))
        } else {
            guard queue == nil && kind == nil else {
                throw Failure(.usage, "--queue and --kind are for a folder; each line has its own")
            }
            try await enqueueLines()
        }
    }
}

extension Import {
    private func enqueueLines() async throws {
        // Room for a payload at its limit and the other fields.
        let lineLimit = BrokerOptions().maximumPayloadByteCount + 64 * 1_024
        var reader = try LineReader(path: from, maximumByteCount: lineLimit)
        defer { reader.close() }
        let broker = try await store.openToEnqueue()
        var importer = Importer<TransferredAction>(
            .init(
                store: { try await broker.take($0).count },
                batchSize: batchSize,
                passesOverRefused: skipBad
            ),
            StopRequests()
        )
        do {
            try await importer.run(&reader, from: firstLine) { bytes throws(Refusal) in
                try TransferLine.action(bytes)
            }
        } catch {
            await broker.close()
            importer.remarkOnStop(error)
            throw error
        }
        await broker.close()
        output.answer(
            "\(importer.enqueued) enqueued, \(importer.refused) refused",
            [("enqueued", String(importer.enqueued)), ("refused", String(importer.refused))]
        )
        if importer.refused > 0 { throw Failure(.refused) }
    }

    private func enqueueEntries(of reader: inout FolderReader, in queue: QueueName) async throws {
        let broker = try await store.openToEnqueue()
        var importer = Importer<TransferredAction>(
            .init(
                store: { try await broker.take($0).compactMap(\.self).count },
                batchSize: batchSize,
                // Only these errors concern one entry; a full queue or a wrong kind concerns all.
                concernsOne: Set([.invalidOptions, .payloadNotJSON, .payloadTooLarge])
                    .union(kind == nil ? [.invalidKind] : [])
            )
        )
        do {
            try await importer.run(&reader) { $0.action(in: queue, kind: kind) }
        } catch {
            await broker.close()
            Terminal.remark("stopped: \(importer.enqueued) enqueued; the same command continues from there")
            throw error
        }
        await broker.close()
        let facts = [
            ("enqueued", importer.enqueued), ("refused", importer.refused), ("known", importer.known),
            ("ignored", importer.ignored),
        ]
        output.answer(
            facts.map { "\($0.1) \($0.0)" }.joined(separator: ", "),
            facts.map { (name: $0.0, value: String($0.1)) }
        )
        if importer.refused > 0 { throw Failure(.refused) }
    }

    private func queueName(for source: ImportSource) -> QueueName {
        switch (queue, source) {
        case (let queue?, _): QueueName(queue)
        case (nil, .cute(let path)): QueueName(PlainFile.ownName(of: path) ?? "")
        case (nil, _): QueueName(CustomerIOFolder.queue)
        }
    }
}
#endif
