#if CommandLineTool && GRDB && Examples
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

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

    private let http: HTTPClient
    private let server: String
    private let timeout: TimeAmount

    /// Connects to a server for as long as the closure runs.
    static func use<Output>(
        _ server: String,
        timeout: Int,
        _ body: (MatrixClient) async throws -> Output
    ) async throws -> Output {
        var configuration = HTTPClient.Configuration()
        // Without a network a request fails at once: to wait for it is the gate's business.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(3)
        // The time limit of a request ends with the head of its answer; this one counts for the rest.
        configuration.timeout.read = .seconds(Int64(timeout))
        // One for each handler, and for the probes.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 2 * Outbox.concurrency
        let http = HTTPClient(configuration: configuration)
        do {
            let client = MatrixClient(http: http, server: server, timeout: .seconds(Int64(timeout)))
            let output = try await body(client)
            try await http.shutdown()
            return output
        } catch {
            try? await http.shutdown()
            throw error
        }
    }

    /// Whether the server answers, whatever it says.
    var isReachable: Bool {
        get async { (try? await ask(.GET, "/_matrix/client/versions")) != nil }
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
            .PUT,
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
        let limits = try await ask(.GET, "/_matrix/client/v1/media/config", token: token)
        if let limit = limits.fields.uploadLimit, file.count > limit {
            let error = "the file has \(file.count) bytes, and the server takes \(limit)"
            return Answer(status: 413, fields: Answer.Fields(error: error))
        }
        return try await ask(
            .POST,
            "/_matrix/media/v3/upload",
            token: token,
            type: "application/octet-stream",
            body: file
        )
    }

    func logIn(_ user: String, password: String, device: String) async throws -> Answer {
        let login = Login(identifier: Login.User(user: user), password: password, deviceId: device)
        return try await ask(.POST, "/_matrix/client/v3/login", body: Self.encode(login))
    }

    private func ask(
        _ method: HTTPMethod,
        _ path: String,
        token: String? = nil,
        type: String = "application/json",
        body: Data? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(url: server + path)
        request.method = method
        if let token { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
        if let body {
            request.headers.add(name: "Content-Type", value: type)
            request.body = .bytes(body)
        }
        let response = try await http.execute(request, timeout: timeout)
        let bytes = try await response.body.collect(upTo: 1_024 * 1_024)
        // An error of something between us and the server has no JSON.
        let fields = try? JSONDecoder().decode(Answer.Fields.self, from: Data(bytes.readableBytesView))
        return Answer(
            status: Int(response.status.code),
            fields: fields ?? Answer.Fields(),
            retryAfter: response.headers.first(name: "Retry-After")
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
