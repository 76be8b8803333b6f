#if Web
internal import Foundation
internal import Synchronization

/// The browsers that have opened the page, in memory.
final class Sessions: Sendable {
    /// One browser.
    struct Session: Sendable {
        /// The value of its cookie.
        let id: String
        /// Each of its forms repeats it, and another site cannot read it.
        let formToken: String
        /// Who has logged in.
        var person: Operator?
        /// The result of the last act, shown once.
        var notice: String?
        /// Whether the cookie has come back: each request without one makes a session.
        fileprivate var isBrowser = false
        fileprivate var lastUse: ContinuousClock.Instant

        /// One that no cookie leads to.
        static var ofNobody: Session { Session(id: "", formToken: "", lastUse: .now) }

        /// Whether it ends before another, if there are too many.
        fileprivate func isLess(_ other: Session) -> Bool {
            let value = { (session: Session) in session.person != nil ? 2 : session.isBrowser ? 1 : 0 }
            return (value(self), lastUse) < (value(other), other.lastUse)
        }
    }

    /// The cookie's name, before the port: browsers send cookies to all ports of a host.
    static let cookie = "sluice_session"
    /// With more browsers, the ones that were away for the longest have to log in again.
    private static let limit = 1_000
    /// A browser that was away for this long has to log in again.
    private static let lifetime: Duration = .seconds(12 * 3_600)

    private let sessions = Mutex<[String: Session]>([:])

    /// Returns the session of a cookie, or a new one.
    func session(_ id: String?) -> (session: Session, isNew: Bool) {
        let now = ContinuousClock.now
        return sessions.withLock { sessions in
            if let id, var known = sessions[id], known.lastUse.duration(to: now) < Self.lifetime {
                (known.lastUse, known.isBrowser) = (now, true)
                sessions[id] = known
                return (known, false)
            }
            makeRoom(in: &sessions)
            let new = Session(id: Self.secret(), formToken: Self.secret(), lastUse: now)
            sessions[new.id] = new
            return (new, true)
        }
    }

    /// Begins a session for one who has logged in.
    func logIn(_ person: Operator) -> Session {
        let now = ContinuousClock.now
        let new = Session(id: Self.secret(), formToken: Self.secret(), person: person, lastUse: now)
        sessions.withLock { sessions in
            makeRoom(in: &sessions)
            sessions[new.id] = new
        }
        return new
    }

    private func makeRoom(in sessions: inout [String: Session]) {
        guard sessions.count >= Self.limit else { return }
        if let least = sessions.values.min(by: { $0.isLess($1) }) { sessions[least.id] = nil }
    }

    /// Returns who has logged in, if the session goes on.
    func person(of id: String) -> Operator? {
        let now = ContinuousClock.now
        return sessions.withLock { sessions in
            guard let session = sessions[id], session.lastUse.duration(to: now) < Self.lifetime
            else { return nil }
            sessions[id]?.lastUse = now
            return session.person
        }
    }

    func end(_ id: String) { sessions.withLock { $0[id] = nil } }

    /// Shows a text on the next page of a browser.
    func setNotice(_ text: String, _ id: String) { sessions.withLock { $0[id]?.notice = text } }

    func takeNotice(_ id: String) -> String? {
        sessions.withLock { sessions in
            defer { sessions[id]?.notice = nil }
            return sessions[id]?.notice
        }
    }

    /// 128 bits of the system's random generator.
    static func secret() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<2).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
#endif
