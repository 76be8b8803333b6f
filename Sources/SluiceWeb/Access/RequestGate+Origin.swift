#if Web
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// Whether a request is from a page of ours: its host, its origin, and what browsers say of it.
extension RequestGate {
    /// Another site has its own host's name in these, even if that name has been given this address.
    func isFromHere(_ request: Request) -> Bool {
        guard let authority = request.head.authority, isOurs(host(of: authority)) else { return false }
        guard HTTPField.Name("Host").flatMap({ request.headers[$0] }) == nil else { return false }
        guard isOurOrigin(request, authority) else { return false }
        // What other sites embed or send is refused; a link or a bookmark leads here.
        guard let site = request.fetchHeader("Site") else { return true }
        let isLink = [.get, .head].contains(request.method) && request.fetchHeader("Mode") == "navigate"
        return site == "same-origin" || site == "none" || isLink
    }

    /// A proxy may put its own name for this page in place of the one that the browser uses.
    func isOurOrigin(_ request: Request, _ authority: String) -> Bool {
        guard let origin = request.headers[.origin] else { return true }
        guard let start = origin.range(of: "://") else { return false }
        let place = String(origin[start.upperBound...])
        return place == authority || isNamed(host(of: place))
    }

    func isNamed(_ host: Substring) -> Bool {
        let name = host.lowercased()
        return options.hosts.contains { $0.lowercased() == name }
    }

    /// A link of another site comes without the cookie.
    func isFromElsewhere(_ request: Request) -> Bool {
        ["cross-site", "same-site"].contains(request.fetchHeader("Site"))
    }

    /// An address is nobody's name, so no other site can be given it.
    func isOurs(_ host: Substring) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = host.hasPrefix("[") || (parts.count == 4 && parts.allSatisfy { UInt8($0) != nil })
        let name = host.lowercased()
        if case .everybody = options.access {
            // Whoever mounts the page at another address has to say who may act.
            return name == "localhost" || name == "[::1]" || (isAddress && host.hasPrefix("127."))
        }
        return isAddress || name == "localhost" || isNamed(host)
    }

    /// Without the port.
    func host(of authority: String) -> Substring {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return authority[...end] }
        return authority.prefix { $0 != ":" }
    }

    /// Whether the browser has a connection with TLS, to a proxy: by the proxy, or by the browser itself.
    func isEncrypted(_ request: Request) -> Bool {
        if request.headers[.origin]?.hasPrefix("https://") == true { return true }
        let scheme = HTTPField.Name("X-Forwarded-Proto").flatMap { request.headers[$0] }
        return scheme?.lowercased().split(separator: ",").first?.trimmingPrefix(" ") == "https"
    }

    func refusal(_ request: Request) -> Response {
        Response(
            status: .forbidden,
            headers: Self.headers(type: "text/plain; charset=utf-8"),
            body: ResponseBody(byteBuffer: ByteBuffer(string: advice(request) + "\n"))
        )
    }

    /// Why a request is refused, and what to do.
    func advice(_ request: Request) -> String {
        let authority = request.head.authority ?? ""
        guard isOurs(host(of: authority)) else {
            return
                "The request names the host '\(authority)', which is not this page's. Open it "
                + "by localhost, or start it with the name that you use (sluice serve "
                + "--token-file FILE --host NAME)."
        }
        guard isOurOrigin(request, authority) else {
            let origin = request.headers[.origin] ?? ""
            return
                "The browser has opened '\(origin)'; the request names the host '\(authority)'. If "
                + "there is a proxy between them, start the page with the name that the browser uses (sluice "
                + "serve --token-file FILE --host NAME)."
        }
        return "Another site has sent this request. Open the page itself."
    }
}

extension Request {
    /// A header by which browsers say what a request is for.
    func fetchHeader(_ name: String) -> String? {
        HTTPField.Name("Sec-Fetch-\(name)").flatMap { headers[$0] }
    }
}
#endif
