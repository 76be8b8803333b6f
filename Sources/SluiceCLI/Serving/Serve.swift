#if CommandLineTool
internal import ArgumentParser
internal import Sluice
#if Web
internal import Logging
internal import SluiceWeb
#endif

/// Serves the operator's page.
struct Serve: AsyncParsableCommand, Look {
    static let configuration = CommandConfiguration(
        abstract: "Serve a page that shows the queues and acts on them, for a browser.",
        discussion: """
            Shows why each queue does not move, its actions, dead letters, gates, holds and runners, and \
            what doctor finds. Acts on one or on all that match a filter: retry, skip, move, edit, hold, \
            requeue, remove. It works beside the process that runs the queues, and runs none itself.

            WHO MAY. At a loopback address every user of this machine may act; with --read-only, look. With \
            --token-file the page asks for a token: each line of the file is `look` or `act`, a name for the \
            audit log, and a token of at least 22 characters; only you may be able to read the file. Another \
            --address needs one. If browsers reach it by a name, repeat it with --host. The connection is \
            not encrypted: put a proxy with TLS before it. GET /healthz needs no token.

            The answer is the address. Acts are logged on standard error with who did them.

            Example:
              sluice serve --file q.sqlite --port 8088
              sluice serve --file q.sqlite --token-file tokens \\
                  --address 0.0.0.0 --host ops.example

            \(ExitStatus.help)
            """
    )

    @OptionGroup var store: StoreOption

    @Option(help: ArgumentHelp("The port; 0 is any that is free.", valueName: "number"))
    var port = 8_088

    @Option(help: ArgumentHelp("The address to listen at.", valueName: "address"))
    var address = "127.0.0.1"

    @Option(help: ArgumentHelp("A name by which browsers reach it; can be repeated.", valueName: "name"))
    var host: [String] = []

    @Option(help: ArgumentHelp("The path that the page is under, such as /ops.", valueName: "path"))
    var prefix = ""

    @Option(help: ArgumentHelp("Roles, names and tokens, a line each.", valueName: "path"))
    var tokenFile: String?

    @Flag(help: "Nobody can change anything.")
    var readOnly = false

    @OptionGroup var output: OutputOption

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port is not from 0 to 65535") }
        #if !Web
        throw ValidationError(
            "this tool was built without the page: build it with "
                + Surroundings.buildCommand(adding: "Web")
        )
        #endif
    }

    func run() async throws {
        #if Web
        var options = BrokerOptions()
        // An act that is blocked reports this soon.
        options.file.lockTimeout = .seconds(2)
        // Pages are updated once a second.
        options.file.foreignChangeInterval = .milliseconds(500)
        if readOnly { options.file.role = .readOnly }
        let stop = StopRequests(remark: nil)
        let broker = ServedBroker(try await store.openExisting(options), store, options)
        do {
            try await serve(broker, until: stop)
        } catch {
            await broker.current.close()
            throw error
        }
        await broker.current.close()
        #endif
    }

    #if Web
    private func serve(_ broker: ServedBroker, until stop: StopRequests) async throws {
        let server = try server(broker)
        let serving = Task { try await server.run() }
        stop.connect { _ in serving.cancel() }
        do {
            try await serving.value
        } catch is CancellationError {
            return
        } catch {
            throw Failure(.cannotOpen, "the page cannot be served at \(address), port \(port): \(error)")
        }
    }

    private func server(_ served: ServedBroker) throws -> OperatorServer {
        let broker = served.current
        var options = OperatorPageOptions(access: .everybody)
        let title = store.title(broker)
        options.title = title.split(separator: "/").last.map(String.init) ?? title
        options.isReadOnly = readOnly
        options.hosts = host
        options.prefix = prefix
        options.facts = ServedStore(served: served, file: store.file)
        options.reopen = { try await served.reopen() }
        options.logger = Logger(label: "sluice.web") { _ in RemarkLogHandler(logLevel: .notice, hasTime: true)
        }
        let (address, prefix, json) = (address, prefix, output.json)
        do {
            if let tokenFile { options.access = .tokens(try TokenFile(path: tokenFile)) }
            return try OperatorServer(
                try OperatorPage(broker, options: options),
                address: address,
                port: port
            ) { port in
                let place = "http://\(address.contains(":") ? "[\(address)]" : address):\(port)\(prefix)/"
                Terminal.answer(json ? JSONText.object([("url", JSONText.string(place))]) : place)
            }
        } catch let error as PageError {
            throw Failure(.usage, error.message)
        }
    }
    #endif
}
#endif
