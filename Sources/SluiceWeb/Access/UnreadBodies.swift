#if Web
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import Synchronization

/// Ends the connections of requests that are answered before their bodies have been read.
///
/// The server would read on, for as long as bytes come.
struct UnreadBodies: RouterMiddleware {
    func handle(
        _ request: Request,
        context: ServedContext,
        next: @concurrent (Request, ServedContext) async throws -> Response
    ) async throws -> Response {
        let hasBody =
            request.headers[.transferEncoding] != nil
            || request.headers[.contentLength].map { $0 != "0" } ?? false
        guard hasBody else { return try await next(request, context) }
        let body = Body(parts: request.body)
        var request = request
        request.body = RequestBody(asyncSequence: body)
        var response = try await next(request, context)
        if !body.isRead.load(ordering: .relaxed) {
            context.channel.close(mode: .input, promise: nil)
            response.headers[.connection] = "close"
        }
        return response
    }

    /// A body that knows whether it has been read to its end.
    private final class Body: AsyncSequence, Sendable {
        let parts: RequestBody
        let isRead = Atomic(false)

        init(parts: RequestBody) { self.parts = parts }

        struct Iterator: AsyncIteratorProtocol {
            let body: Body
            var parts: RequestBody.AsyncIterator

            mutating func next(isolation actor: isolated (any Actor)?) async throws -> ByteBuffer? {
                let part = try await parts.next(isolation: actor)
                if part == nil { body.isRead.store(true, ordering: .relaxed) }
                return part
            }
        }

        func makeAsyncIterator() -> Iterator { Iterator(body: self, parts: parts.makeAsyncIterator()) }
    }
}
#endif
