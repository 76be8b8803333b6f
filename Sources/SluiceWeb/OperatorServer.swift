#if Web
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import Logging
internal import NIOCore
public import ServiceLifecycle

/// Serves an ``OperatorPage`` on a port of its own, with limits on connections, headers, bodies and time.
public struct OperatorServer: Service {
    private let page: OperatorPage
    private let address: String
    private let port: Int
    private let whenRunning: @Sendable (Int) -> Void

    /// The most connections at the same time: a new one closes another that rests.
    public static let connectionLimit = 256
    /// The most connections without a login, or without a session if there are no logins.
    private static let strangerLimit = 192
    /// The most connections of a session: browsers open six.
    private static let sessionLimit = 24
    /// Connections that are just being closed have places too.
    private static let closingLimit = 128

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - page: What it serves.
    ///   - address: The address to listen at.
    ///   - port: The port; 0 is any that is free.
    ///   - whenRunning: Called with the port when browsers can connect.
    /// - Throws: ``PageError`` for another address than a loopback one, if ``PageAccess/everybody`` may use
    ///   the page.
    public init(
        _ page: OperatorPage,
        address: String = "127.0.0.1",
        port: Int,
        whenRunning: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws {
        if case .everybody = page.options.access, !["127.0.0.1", "::1", "localhost"].contains(address) {
            throw PageError(
                .invalid,
                "everybody who reaches \(address) could change the queues: give a token file, or listen at "
                    + "127.0.0.1"
            )
        }
        (self.page, self.address, self.port, self.whenRunning) = (page, address, port, whenRunning)
    }

    /// Serves until the task is cancelled or a service group stops.
    public func run() async throws {
        let router = Router(context: ServedContext.self, options: [.autoGenerateHeadEndpoints])
        let connections = Connections(
            limit: Self.connectionLimit,
            strangerLimit: Self.strangerLimit,
            holderLimit: Self.sessionLimit,
            closings: RareNotice { [logger = page.options.logger] count in
                logger.notice("Connections have given way to new ones", metadata: ["count": "\(count)"])
            }
        )
        router.add(middleware: ServedRequests(connections: connections))
        router.add(middleware: UnreadBodies())
        page.addRoutes(to: router)
        let gate = RequestGate(page: page)
        router.get("**") { request, _ in await gate.missing(request) }
        // Nor are the paths that lead to the prefix.
        var parts = page.options.prefix.split(separator: "/")
        while parts.popLast() != nil {
            let path = RouterPath("/" + parts.joined(separator: "/"))
            router.get(path) { request, _ in await gate.missing(request) }
        }
        // The root is no child of itself.
        for place in ["/", "**"] as [RouterPath] {
            for method in [.post, .put, .patch, .delete, .options] as [HTTPRequest.Method] {
                router.on(place, method: method) { request, _ in await gate.missing(request) }
            }
        }
        let limits = HTTP1Channel.Configuration(
            additionalChannelHandlers: [
                ConnectionHandler(connections, holder: gate.knownHolder), StalledPeerHandler(),
            ],
            idleTimeout: .seconds(60),
            httpDecoderConfiguration: .init(maxHeaderFieldSize: 16 * 1_024, maxHeaderListSize: 32 * 1_024)
        )
        // It warns of each connection that is open when the server ends.
        var logger = page.options.logger
        logger.logLevel = .critical
        let application = Application(
            router: router,
            server: .http1(configuration: limits),
            configuration: ApplicationConfiguration(
                address: .hostname(address, port: port),
                serverName: "sluice",
                availableConnectionsDelegate: MaximumAvailableConnections(
                    Self.connectionLimit + Self.closingLimit
                )
            ),
            services: [page],
            onServerRunning: { whenRunning($0.localAddress?.port ?? port) },
            logger: logger
        )
        try await application.run()
    }
}
#endif
