#if GRDB
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Request: Sendable {
    var method: String
    var path: String
    var body = Data()
}

struct Answer: Sendable {
    var status: Int
    /// The header `Retry-After`.
    var retryAfter: String?
}

/// The server, or another one in a test.
protocol ChatServer: Sendable {
    /// Returns a new token of an account.
    func logIn(_ account: String) async throws -> String

    /// - Throws: If no answer comes.
    func perform(_ request: Request, token: String) async throws -> Answer

    /// Whether the server answers at all.
    var isReachable: Bool { get async }
}

struct LoginRefused: Error {
    var status: Int
}

struct HTTPChatServer: ChatServer {
    let url: URL

    func logIn(_ account: String) async throws -> String {
        let login = Request(method: "POST", path: "login", body: Data(account.utf8))
        let (data, response) = try await call(login, token: nil)
        guard response.statusCode == 200 else { throw LoginRefused(status: response.statusCode) }
        return String(decoding: data, as: UTF8.self)
    }

    func perform(_ request: Request, token: String) async throws -> Answer {
        let (_, response) = try await call(request, token: token)
        return Answer(
            status: response.statusCode,
            retryAfter: response.value(forHTTPHeaderField: "Retry-After")
        )
    }

    var isReachable: Bool {
        get async {
            do {
                _ = try await call(Request(method: "GET", path: "health"), token: nil)
                return true
            } catch {
                return false
            }
        }
    }

    private func call(_ request: Request, token: String?) async throws -> (Data, HTTPURLResponse) {
        var call = URLRequest(url: url.appending(path: request.path), timeoutInterval: 30)
        call.httpMethod = request.method
        call.httpBody = request.body
        #if canImport(FoundationNetworking)
        // If a connection that is kept breaks, URLSession on Linux repeats the call without its body.
        call.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        if let token { call.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await Self.data(for: call)
        guard let response = response as? HTTPURLResponse else { throw URLError(.badServerResponse) }
        return (data, response)
    }

    private static func data(for call: URLRequest) async throws -> (Data, URLResponse) {
        #if canImport(FoundationNetworking)
        // On Linux URLSession could hang or trap if the cancellation of a handler or a probe reached it.
        try await Task { try await URLSession.shared.data(for: call) }.value
        #else
        try await URLSession.shared.data(for: call)
        #endif
    }
}
#endif
