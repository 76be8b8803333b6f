#if Web
/// Who may use the page.
public enum PageAccess: Sendable {
    /// Everybody who can connect, which is every user of this machine on a loopback address.
    ///
    /// ``OperatorServer`` refuses it on any other address, and requests that name another host are refused. A
    /// program can name any host, though: a server that mounts the page must listen at a loopback address.
    case everybody
    /// Everybody who knows one of the tokens: the page asks for it once, and remembers the browser.
    case tokens(TokenFile)
    /// Everybody whom the application recognizes.
    case application(any Authenticator)
}
#endif
