#if Web
internal import Hummingbird
internal import NIOCore

/// A request to ``OperatorServer``, with its connection.
struct ServedContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
#endif
