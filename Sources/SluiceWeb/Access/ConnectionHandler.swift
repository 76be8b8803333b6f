#if Web
internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Says what a connection does, and closes one that keeps its place without sending a request.
final class ConnectionHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The longest time until the whole head of the first request is there, however it drips.
    static let firstLimit: TimeAmount = .seconds(10)
    /// The longest time from an answer to the head of the next request.
    static let nextLimit: TimeAmount = .seconds(60)

    private let connections: Connections
    private let holder: @Sendable (HTTPRequest) -> String?
    private var id: ObjectIdentifier?
    private var requestsInProgress = 0
    private var timeout: Scheduled<Void>?

    /// - Parameter holder: Returns who a request is from, as far as that is known at once.
    init(_ connections: Connections, holder: @escaping @Sendable (HTTPRequest) -> String? = { _ in nil }) {
        (self.connections, self.holder) = (connections, holder)
    }

    func handlerAdded(context: ChannelHandlerContext) { if context.channel.isActive { begin(context) } }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let request) = unwrapInboundIn(data) {
            timeout?.cancel()
            requestsInProgress += 1
            set(.busy)
            // Now, as strangers may end it before a busy server has handled the request.
            if let id, let holder = holder(request) { connections.know(id, holder) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            requestsInProgress -= 1
            if requestsInProgress <= 0 {
                set(.idle)
                limit(context, Self.nextLimit)
            }
        }
        context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if requestsInProgress > 0 { set(context.channel.isWritable ? .busy : .stalled) }
        context.fireChannelWritabilityChanged()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard id == nil else { return }
        let channel = context.channel
        let address = channel.remoteAddress?.ipAddress ?? "unknown"
        let id = ObjectIdentifier(channel)
        self.id = id
        connections.open(id, address) { channel.close(promise: nil) }
        limit(context, Self.firstLimit)
    }

    private func limit(_ context: ChannelHandlerContext, _ time: TimeAmount) {
        timeout?.cancel()
        timeout = context.eventLoop.assumeIsolated().scheduleTask(in: time) { context.close(promise: nil) }
    }

    private func set(_ phase: Connections.Phase) { if let id { connections.set(id, phase) } }

    private func end() {
        timeout?.cancel()
        if let id { connections.closed(id) }
        id = nil
    }
}
#endif
