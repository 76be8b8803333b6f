#if Web
internal import NIOCore

/// Closes a connection whose peer does not take an answer for a time, as it would keep it from others.
final class StalledPeerHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = Any

    /// The longest time without room for more: 12 MB at 100 KB a second.
    static let limit: TimeAmount = .seconds(120)

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
