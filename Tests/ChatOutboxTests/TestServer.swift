#if GRDB
import Foundation
import SluiceTestKit
import Synchronization

@testable import ChatOutbox

/// A server in memory, which answers as the test says, and else keeps what it gets.
final class TestServer: ChatServer {
    private struct State {
        var answers: [Answer] = []
        var tokens: [String: Int] = [:]
        var texts: [String: String] = [:]
        var interlude: (@Sendable () async throws -> Void)?
    }

    private struct Body: Decodable {
        var text: String
    }

    /// The calls in their order, such as `PUT messages/…`.
    let calls = EventLog<String>()
    /// The accounts that have logged in.
    let logins = EventLog<String>()
    private let state = Mutex(State())

    /// The texts of the messages by their ids.
    var texts: [String: String] { state.withLock { $0.texts } }

    /// Has a piece of work done once, after the server has read the next call and before it answers.
    func duringNextCall(_ work: @escaping @Sendable () async throws -> Void) {
        state.withLock { $0.interlude = work }
    }

    /// Gives these answers to the next calls, whatever they are.
    func answerNext(_ answers: Answer...) { state.withLock { $0.answers += answers } }

    /// Makes the tokens that are known serve for so many more calls.
    func limitTokens(to count: Int) {
        state.withLock { state in
            for token in state.tokens.keys { state.tokens[token] = count }
        }
    }

    var isReachable: Bool { get async { true } }

    func logIn(_ account: String) async throws -> String {
        let token = UUID().uuidString
        state.withLock { $0.tokens[token] = .max }
        logins.append(account)
        return token
    }

    func perform(_ request: Request, token: String) async throws -> Answer {
        let (answer, interlude) = try state.withLock { state in
            defer { state.interlude = nil }
            return (try Self.answer(to: request, token, &state), state.interlude)
        }
        calls.append("\(request.method) \(request.path)")
        try await interlude?()
        return answer
    }

    private static func answer(to request: Request, _ token: String, _ state: inout State) throws -> Answer {
        if !state.answers.isEmpty { return state.answers.removeFirst() }
        guard let left = state.tokens[token], left > 0 else { return Answer(status: 401) }
        state.tokens[token] = left - 1
        guard request.body.count < 1_000 else { return Answer(status: 413) }
        let id = String(request.path.split(separator: "/")[1])
        switch request.method {
        case "DELETE":
            return Answer(status: state.texts.removeValue(forKey: id) == nil ? 404 : 200)
        case "PUT" where request.path.hasPrefix("messages/"):
            state.texts[id] = try JSONDecoder().decode(Body.self, from: request.body).text
            return Answer(status: 200)
        default: return Answer(status: 200)
        }
    }
}
#endif
