#if Web
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Refuses requests that two programs could read in two ways, and says where a request comes from.
struct ServedRequests: RouterMiddleware {
    let connections: Connections

    func handle(
        _ request: Request,
        context: ServedContext,
        next: @concurrent (Request, ServedContext) async throws -> Response
    ) async throws -> Response {
        // The first is the request's authority, and no header any more.
        if let name = HTTPField.Name("Host"), request.headers[name] != nil {
            return refusal(.badRequest, "The request names two hosts.\n", context)
        }
        let codings = request.headers[values: .transferEncoding]
        guard codings.isEmpty || codings.map({ $0.lowercased() }) == ["chunked"] else {
            return refusal(.notImplemented, "The only transfer coding is chunked.\n", context)
        }
        let id = ObjectIdentifier(context.channel)
        let caller = Caller(
            address: context.channel.remoteAddress?.ipAddress ?? "unknown",
            forwardedFor: HTTPField.Name("X-Forwarded-For").flatMap { request.headers[$0] },
            know: { connections.know(id, $0) }
        )
        return try await Caller.$current.withValue(caller) { try await next(request, context) }
    }

    private func refusal(_ status: HTTPResponse.Status, _ text: String, _ context: ServedContext) -> Response
    {
        // Where its body ends is not known.
        context.channel.close(mode: .input, promise: nil)
        var headers = RequestGate.headers(type: "text/plain; charset=utf-8")
        headers[.connection] = "close"
        return Response(
            status: status,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: text))
        )
    }
}
#endif
