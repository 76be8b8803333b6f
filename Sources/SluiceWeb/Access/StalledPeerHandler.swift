#if Web
internal import NIOCore

/// Closes a connection whose peer takes nothing of an answer for a time, as it would keep it from others.
final class StalledPeerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// The longest time without room for more of an answer.
    private static let limit: TimeAmount = .seconds(20)

    private var timeout: Scheduled<Void>?

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        timeout?.cancel()
        timeout = nil
        if !context.channel.isWritable {
            timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.limit) {
                context.close(promise: nil)
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timeout?.cancel() }
}
#endif
