#if Web
internal import HTTPTypes
internal import Hummingbird

/// The cookie by which a browser comes back.
extension RequestGate {
    func cookie(_ head: HTTPRequest) -> String? {
        let name = cookieName(head)
        for field in head.headerFields[values: .cookie] {
            for pair in field.split(separator: ";") {
                let parts = pair.split(separator: "=", maxSplits: 1)
                if parts.count == 2, parts[0].trimmingPrefix(" ") == name {
                    return String(parts[1])
                }
            }
        }
        return nil
    }

    func setCookie(_ id: String, _ request: Request) -> String {
        let path = options.prefix.isEmpty ? "/" : options.prefix
        let secure = isEncrypted(request) ? "; Secure" : ""
        return "\(cookieName(request.head))=\(id); Path=\(path); HttpOnly; SameSite=Strict\(secure)"
    }

    private func cookieName(_ head: HTTPRequest) -> String {
        let authority = head.authority ?? ""
        let port = authority.dropFirst(host(of: authority).count).filter(\.isNumber)
        return Sessions.cookie + (port.isEmpty ? "" : "_\(port)")
    }

    /// Whose share of the connections a request's is, as far as its cookie says so.
    ///
    /// It neither waits nor prolongs the session: connections ask it before the request is handled. An
    /// application's people are known only once its authenticator has answered.
    func knownHolder(_ head: HTTPRequest) -> String? {
        guard let id = cookie(head) else { return nil }
        return switch options.access {
        case .everybody: page.sessions.has(id) ? id : nil
        case .tokens: page.sessions.isLoggedIn(id) ? id : nil
        case .application: nil
        }
    }
}
#endif
