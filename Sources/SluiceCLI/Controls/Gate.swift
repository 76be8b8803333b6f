#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Opens, closes and lists gates.
struct Gate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Open, close or list gates: named conditions that actions wait for.",
        discussion: """
            An action waits for a gate that it was enqueued with (`sluice enqueue --gate`), or that the \
            program's route for it names. A gate that was never opened is closed. If the tool opens or \
            closes a gate, it stays so until somebody changes it, or for the time given by `close --for`, \
            even if the program that runs the queues restarts.

            Example:
              sluice gate open --file q.sqlite network
              sluice gate list --file q.sqlite

            \(ExitStatus.help)
            """,
        subcommands: [List.self, Open.self, Close.self],
        defaultSubcommand: List.self
    )

    struct List: AsyncParsableCommand, Look {
        static let configuration = CommandConfiguration(
            abstract: "List the gates that have been opened or closed.",
            discussion: """
                With --json: gate, state (open or closed), since, is_persistent (whether a restart of the \
                broker keeps the state), opens_at (when a closed gate opens by itself, or null).

                Example:
                  sluice gate list --file q.sqlite

                \(ExitStatus.help)
                """
        )

        @OptionGroup var store: StoreOption
        @OptionGroup var output: OutputOption

        func run() async throws {
            let gates = try await store.withReader { try await $0.gates() }
            if gates.isEmpty { Terminal.remark("no gate has been opened or closed") }
            guard !output.json else { return Terminal.answer(gates.map(Self.json)) }
            var table = Table([
                .init(heading: "GATE", cut: .middle), .init(heading: "STATE"),
                .init(heading: "SINCE", hasTimes: true), .init(heading: "KEPT"),
                .init(heading: "OPENS", hasTimes: true),
            ])
            for gate in gates {
                table.add(
                    [
                        gate.name.rawValue, Self.state(gate), Times.text(gate.since),
                        gate.isPersistent ? "yes" : "no", gate.opensAt.map { Times.text($0) } ?? "",
                    ],
                    styles: [1: gate.isOpen ? .green : .yellow]
                )
            }
            Terminal.answer(table.lines(output.paint))
        }

        private static func state(_ gate: Sluice.Gate) -> String { gate.isOpen ? "open" : "closed" }

        private static func json(_ gate: Sluice.Gate) -> String {
            JSONText.object([
                ("gate", JSONText.string(gate.name.rawValue)),
                ("state", JSONText.string(state(gate))),
                ("since", JSONText.string(Times.text(gate.since))),
                ("is_persistent", String(gate.isPersistent)),
                ("opens_at", JSONText.string(gate.opensAt.map { Times.text($0) })),
            ])
        }
    }

    struct Open: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Open a gate: actions that wait for it may start.",
            discussion: """
                With --json: gate, state.

                Example:
                  sluice gate open --file q.sqlite account:42

                \(ExitStatus.help)
                """
        )

        @OptionGroup var store: StoreOption

        @Argument(help: ArgumentHelp("The gate.", valueName: "name"))
        var name: String

        @OptionGroup var output: OutputOption

        func run() async throws {
            try await output.perform([.openGate(GateName(name), isPersistent: true, spread: .zero)], store)
        }
    }

    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a gate: actions that need it do not start; running ones continue.",
            discussion: """
                With --for, the broker that runs the queues opens it after that time, and the waiting queues \
                start spread over a time. A gate that is closed without an end stays so. With --json: gate, \
                state.

                Example:
                  sluice gate close --file q.sqlite account:42 --for 15m

                \(ExitStatus.help)
                """
        )

        @OptionGroup var store: StoreOption

        @Argument(help: ArgumentHelp("The gate.", valueName: "name"))
        var name: String

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("When the gate opens: 90s, 15m, 2h, 1d.", valueName: "span")
        )
        var span: Span?

        @OptionGroup var output: OutputOption

        func validate() throws {
            if span?.duration == .zero { throw ValidationError("--for is 0: nothing would be closed") }
        }

        func run() async throws {
            let act = Act.closeGate(GateName(name), isPersistent: true, for: span?.duration)
            try await output.perform([act], store)
        }
    }
}
#endif
