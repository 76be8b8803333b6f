/// Actions of several kinds that one handler performs, usually an enum.
///
/// ```swift
/// enum ChatWork: ActionUnion {
///     case send(SendMessage), react(React)
///     static let cases: [ActionCase<ChatWork>] = [ActionCase { .send($0) }, ActionCase { .react($0) }]
/// }
///
/// try broker.route("conversation/*", ChatWork.self, RouteOptions(concurrency: 4)) { work, attempt in
///     switch work {
///     case .send(let message): try await server.send(message.text, transaction: attempt.idempotencyKey)
///     case .react(let reaction): try await server.react(reaction.emoji, to: reaction.message)
///     }
///     return .success
/// }
/// ```
///
/// It is one route: its options, such as ``RouteOptions/concurrency``, apply to all kinds together. The kinds
/// are stored as without it, so a union can be changed at any time.
public protocol ActionUnion: Sendable {
    /// The cases, one for each kind of action.
    static var cases: [ActionCase<Self>] { get }
}
