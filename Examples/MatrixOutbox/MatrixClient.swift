#if CommandLineTool && GRDB
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The few calls of the client-server API (<https://spec.matrix.org/latest/client-server-api/>) that we need.
struct MatrixClient: Sendable {
    private struct Content: Encodable {
        var msgtype = "m.text"
        var body: String
        var url: String?
    }

    private struct Login: Encodable {
        struct User: Encodable {
            var type = "m.id.user"
            var user: String
        }

        var type = "m.login.password"
        var identifier: User
        var password: String
        var deviceId: String
    }

    private let server: String
    private let session: URLSession

    /// - Parameters:
    ///   - server: Where it is, such as `https://matrix.org`.
    ///   - timeout: Seconds without a byte after which an answer counts as lost.
    init(_ server: String, timeout: Int) {
        // Nothing is kept on disk. Without a network a request fails at once: to wait for it is the gate's
        // business.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(timeout)
        // One for each handler, and for the probes.
        configuration.httpMaximumConnectionsPerHost = 2 * Outbox.concurrency
        session = URLSession(configuration: configuration)
        self.server = server
    }

    /// Whether the server answers, whatever it says.
    var isReachable: Bool {
        get async { (try? await ask("GET", "/_matrix/client/versions", timeout: 3)) != nil }
    }

    /// Sends a message.
    ///
    /// - Parameter transaction: The same for each attempt: the server answers a repetition with the event
    ///   that it has.
    func send(_ message: Message, transaction: String, token: String) async throws -> Answer {
        let content = Content(
            msgtype: message.fileURI == nil ? "m.text" : "m.file",
            body: message.text,
            url: message.fileURI
        )
        let path = "/_matrix/client/v3/rooms/\(Self.escape(message.room))/send/m.room.message"
        return try await ask(
            "PUT",
            "\(path)/\(Self.escape(transaction))",
            token: token,
            body: Self.encode(content)
        )
    }

    /// Uploads a file.
    ///
    /// A repetition leaves a second copy at the server, which nobody refers to.
    func upload(_ file: Data, token: String) async throws -> Answer {
        // Of a file that is far too large, Synapse cuts the connection: that would look like a lost answer.
        let limits = try await ask("GET", "/_matrix/client/v1/media/config", token: token)
        if let limit = limits.fields.uploadLimit, file.count > limit {
            let error = "the file has \(file.count) bytes, and the server takes \(limit)"
            return Answer(status: 413, fields: Answer.Fields(error: error))
        }
        return try await ask(
            "POST",
            "/_matrix/media/v3/upload",
            token: token,
            type: "application/octet-stream",
            body: file
        )
    }

    func logIn(_ user: String, password: String, device: String) async throws -> Answer {
        let login = Login(identifier: Login.User(user: user), password: password, deviceId: device)
        return try await ask("POST", "/_matrix/client/v3/login", body: Self.encode(login))
    }

    private func ask(
        _ method: String,
        _ path: String,
        token: String? = nil,
        type: String = "application/json",
        body: Data? = nil,
        timeout: TimeInterval? = nil
    ) async throws -> Answer {
        guard let url = URL(string: server + path) else {
            throw Failure(description: "\(server) is not the address of a server, such as https://matrix.org")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        if let timeout { request.timeoutInterval = timeout }
        if body != nil { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await session.data(for: request)
        guard let response = response as? HTTPURLResponse else {
            throw Failure(description: "\(server) does not speak HTTP")
        }
        // An error of something between us and the server has no JSON.
        let fields = try? JSONDecoder().decode(Answer.Fields.self, from: data)
        return Answer(
            status: response.statusCode,
            fields: fields ?? Answer.Fields(),
            retryAfter: response.value(forHTTPHeaderField: "Retry-After")
        )
    }

    private static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return try encoder.encode(value)
    }

    private static func escape(_ part: String) -> String {
        part.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? part
    }
}
#endif
