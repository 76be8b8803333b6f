#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON
internal import SystemPackage

/// Enqueues one action, or one for each line of a file.
struct Enqueue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Enqueue one action, or one for each line of a file.",
        discussion: """
            ONE ACTION. The payload is JSON, from --payload or from standard input. A text is JSON in quotes \
            of its own: '"Ada"'. The action's number is written to standard output when it is durable.

            MANY ACTIONS. With --from each line of the file is one JSON value, and becomes a payload as it \
            is; empty lines are skipped. The queue is --queue, or --queue-prefix followed by the field of \
            the line that --queue-field names. The order is that of the lines, or of the field --sort-field. \
            Lines are stored in batches; each line is durable within a second, even if the input continues, \
            as from `tail -f`. Each refused line is reported on standard error with its number and the \
            reason, and the others are stored. SIGTERM, SIGINT, SIGHUP and SIGQUIT store the lines read so \
            far, report how many there were, and end the command like any other; a last line without a line \
            break is not stored then.

            SORT KEYS. A date is ISO 8601, such as 2017-05-11T15:46:08.512661: without a zone it is UTC, and \
            digits after the microseconds are cut off. With --sort-type auto a text that is such a date is a \
            date, other text is text, and a number is an integer or a real. All actions of a queue have one \
            type; others are refused.

            TIMES are written like dates, or as a span from now, such as 10m, 2h or 7d. --tag, --gate, \
            --not-before, --expires-at, --payload-version, --group and --member apply to each enqueued \
            action.

            KEYS AND GROUPS. With --key an action is stored once: if the key is taken in its queue, the \
            answer is the number of the action that has it, and nothing is stored; --key-policy replace \
            gives that action the new payload, and refuse ends with status 65. With --keep-key 7d a key \
            stays taken for seven days after its action has ended. In a queue that runs with the discipline \
            pass-over, members of a group are passed over in a pass in which the action that started the \
            group has failed: `sluice run --discipline pass-over`.

            With --json: id; with --from enqueued and refused, how many.

            Examples:
              sluice enqueue --file q.sqlite --queue hello --kind greet --payload '"Ada"'
              sluice enqueue --file q.sqlite --queue sync --kind sync --payload 1 \\
                  --key sync
              sluice enqueue --file q.sqlite --kind message --from chat.jsonl \\
                  --queue-field conversation --sort-field sentAt

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Option(
        help: ArgumentHelp("The queue; with --from, --queue-field can replace it.", valueName: "name"),
        completion: .queueNames
    )
    var queue: String?

    @Option(help: ArgumentHelp("The kind, which says how the action is run.", valueName: "name"))
    var kind: String

    @Option(help: ArgumentHelp("The payload; without it, standard input.", valueName: "json"))
    var payload: String?

    // Unconditional: a key may be a negative number.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The place in the queue's order; without it, after the last.", valueName: "key")
    )
    var sortKey: String?

    @Option(
        help: ArgumentHelp(
            "auto, date, integer, real or text; or composite:date,integer (2 to 4, and as many keys or "
                + "fields, separated by commas).",
            valueName: "type"
        )
    )
    var sortType = SortType.auto

    @Option(
        help: ArgumentHelp("A file with one JSON value a line; - is standard input.", valueName: "path"),
        completion: .file()
    )
    var from: String?

    @Option(
        help: ArgumentHelp(
            "The field that names the queue: text or an integer, at the top level.",
            valueName: "field"
        )
    )
    var queueField: String?

    @Option(help: ArgumentHelp("Text to put before the name in the queue field.", valueName: "text"))
    var queuePrefix: String?

    @Option(help: ArgumentHelp("The field that holds the sort key, at the top level.", valueName: "field"))
    var sortField: String?

    @Option(help: ArgumentHelp("The most lines stored at once.", valueName: "lines"))
    var batchSize = 1_000

    @OptionGroup var facts: EnqueueFacts
    @OptionGroup var output: OutputOption

    func validate() throws {
        func refuse(_ isWrong: Bool, _ message: String) throws {
            if isWrong { throw ValidationError(message) }
        }
        try refuse(!(1...100_000).contains(batchSize), "--batch-size is \(batchSize); give 1 to 100,000")
        if from != nil {
            try refuse(payload != nil, "--payload and --from exclude each other")
            try refuse(sortKey != nil, "with --from, give --sort-field instead of --sort-key")
            try refuse(facts.key != nil, "--key and --from exclude each other: a key is for one action")
            try refuse(
                (queue == nil) == (queueField == nil),
                "with --from, give one of --queue and --queue-field"
            )
            try refuse(queuePrefix != nil && queueField == nil, "--queue-prefix needs --queue-field")
        } else {
            try refuse(
                queueField != nil || sortField != nil || queuePrefix != nil,
                "--queue-field, "
                    + "--queue-prefix and --sort-field need --from"
            )
            try refuse(queue == nil, "--queue is missing")
        }
    }

    func run() async throws {
        if let from {
            try await enqueueLines(of: from)
        } else {
            try await enqueueOne()
        }
    }
}

extension Enqueue {
    private func enqueueOne() async throws {
        let key: SortKey
        do throws(Refusal) {
            key = try sortKey.map { word throws(Refusal) in try sortType.key(fromWord: word) } ?? .arrival
        } catch {
            throw Failure(.refused, error.reason)
        }
        let action = RawAction(
            queue: QueueName(queue ?? ""),
            kind: kind,
            version: facts.payloadVersion,
            sortKey: key,
            payload: try payload ?? Self.standardInput()
        )
        let broker = try await store.openToEnqueue(namesNew: true)
        do {
            let ids = try await broker.enqueue(raw: [action], facts.options, options: nil)
            await broker.close()
            for id in ids { output.answer(id.description, [("id", id.description)]) }
        } catch {
            await broker.close()
            throw error
        }
    }

    private func enqueueLines(of path: String) async throws {
        // Opened first: if the input is missing, no file of queues is created.
        var reader = try LineReader(path: path, maximumByteCount: BrokerOptions().maximumPayloadByteCount)
        defer { reader.close() }
        let sortFields: [String]
        do throws(Refusal) {
            sortFields = try sortField.map { names throws(Refusal) in try sortType.fields(names) } ?? []
        } catch {
            throw Failure(.usage, error.reason)
        }
        let broker = try await store.openToEnqueue()
        let plan = LinePlan(
            queue: queueField.map(LinePlan.Queue.field) ?? .fixed(queue ?? ""),
            queuePrefix: queuePrefix ?? "",
            kind: kind,
            version: facts.payloadVersion,
            sortFields: sortFields,
            sortType: sortType
        )
        var importer = Importer(
            .init(
                store: { try await broker.enqueue(raw: $0, facts.options, options: nil).count },
                batchSize: batchSize
            ),
            StopRequests()
        )
        do {
            try await importer.run(&reader) { bytes throws(Refusal) in try plan.action(bytes) }
        } catch {
            await broker.close()
            // Print the progress before the reason; a signal then ends the process.
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

    /// Returns standard input without a byte order mark and the final line break, which editors and `echo`
    /// add.
    private static func standardInput() throws -> String {
        if Terminal.hasKeyboard {
            Terminal.remark("reading the payload from the keyboard; end it with Ctrl-D")
        }
        let limit = BrokerOptions().maximumPayloadByteCount
        var bytes: [UInt8] = []
        do {
            while bytes.count <= limit {
                let piece = try [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                    count = try FileDescriptor.standardInput.readWaiting(
                        into: UnsafeMutableRawBufferPointer(buffer)
                    )
                }
                if piece.isEmpty { break }
                bytes += piece
            }
        } catch {
            throw Failure(.noInput, "standard input cannot be read: \(error)")
        }
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.starts(with: JSONGrammar.byteOrderMark) {
            bytes.removeFirst(JSONGrammar.byteOrderMark.count)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.refused, "the payload is not UTF-8")
        }
        return text
    }
}
#endif
