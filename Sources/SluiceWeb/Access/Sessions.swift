#if Web
internal import Foundation
internal import Sluice
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
        /// The questions that have not been answered, by their tokens, the oldest first.
        fileprivate var questions: [(token: String, question: Question)] = []
        /// The actions whose payloads it has seen, the newest last.
        fileprivate var seen: [ActionID] = []
        /// Whether the cookie has come back: each request without one makes a session.
        fileprivate var isBrowser = false
        fileprivate var lastUse: ContinuousClock.Instant

        /// One that no cookie leads to.
        static var ofNobody: Session { Session(id: "", formToken: "", lastUse: .now) }

        fileprivate var subjectCount: Int { questions.reduce(0) { $0 + $1.question.subjects.count } }

        fileprivate func isOver(at now: ContinuousClock.Instant) -> Bool {
            lastUse.duration(to: now) >= Sessions.lifetime
        }

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
    /// The most questions of a browser; older ones have to be asked again.
    private static let questionLimit = 20
    /// The payloads that a browser sees without another line in the audit log.
    private static let seenLimit = 50
    /// The most subjects of all questions, some hundred bytes each.
    private static let subjectLimit = 500_000
    /// The most browsers of a person: one token cannot end the sessions of others.
    private static let personLimit = 20
    /// A browser that was away for this long has to log in again.
    private static let lifetime: Duration = .seconds(12 * 3_600)

    private let sessions = Mutex<[String: Session]>([:])

    /// Returns the session of a cookie, or a new one.
    func session(_ id: String?) -> (session: Session, isNew: Bool) {
        let now = ContinuousClock.now
        return sessions.withLock { sessions in
            if let id, var known = sessions[id], !known.isOver(at: now) {
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

    /// Begins a session for one who has logged in; that of the browser's earlier cookie ends.
    func logIn(_ person: Operator, replacing id: String?) -> Session {
        let now = ContinuousClock.now
        let new = Session(id: Self.secret(), formToken: Self.secret(), person: person, lastUse: now)
        sessions.withLock { sessions in
            if let id { sessions[id] = nil }
            let theirs = sessions.values.filter { $0.person == person }
            if theirs.count >= Self.personLimit, let oldest = theirs.min(by: { $0.lastUse < $1.lastUse }) {
                sessions[oldest.id] = nil
            }
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
            guard let session = sessions[id], !session.isOver(at: now) else { return nil }
            sessions[id]?.lastUse = now
            return session.person
        }
    }

    /// Whether a cookie leads to a session; it is not prolonged.
    func has(_ id: String) -> Bool { sessions.withLock { $0[id]?.isOver(at: .now) == false } }

    /// Whether somebody has logged in with a cookie; the session is not prolonged.
    func isLoggedIn(_ id: String) -> Bool {
        sessions.withLock { sessions in
            guard let session = sessions[id], !session.isOver(at: .now) else { return false }
            return session.person != nil
        }
    }

    /// Keeps a question, and returns its token.
    ///
    /// One of a request without a cookie is not kept: such requests could push out those of others.
    func ask(_ question: Question, _ id: String) -> String {
        let token = Self.secret()
        sessions.withLock { sessions in
            guard sessions[id]?.isBrowser == true else { return }
            sessions[id]?.questions.append((token, question))
            if let count = sessions[id]?.questions.count, count > Self.questionLimit {
                sessions[id]?.questions.removeFirst()
            }
            // Those of the browsers that were away for the longest go first.
            var total = sessions.values.reduce(0) { $0 + $1.subjectCount }
            guard total > Self.subjectLimit else { return }
            for other in sessions.values.sorted(by: { $0.lastUse < $1.lastUse }) {
                guard total > Self.subjectLimit, other.id != id else { continue }
                total -= other.subjectCount
                sessions[other.id]?.questions = []
            }
        }
        return token
    }

    /// Returns a question of the session that has not been answered.
    func question(_ token: String?, _ id: String) -> Question? {
        sessions.withLock { $0[id]?.questions.first { $0.token == token }?.question }
    }

    /// Ends a question; false if somebody has answered it.
    func answer(_ token: String?, _ id: String) -> Bool {
        sessions.withLock { sessions in
            guard let index = sessions[id]?.questions.firstIndex(where: { $0.token == token }) else {
                return false
            }
            sessions[id]?.questions.remove(at: index)
            return true
        }
    }

    /// Notes that a browser sees a payload; false if it has seen it a short while ago.
    func see(_ action: ActionID, _ id: String) -> Bool {
        sessions.withLock { sessions in
            guard let session = sessions[id] else { return true }
            if session.seen.contains(action) { return false }
            sessions[id]?.seen = session.seen.suffix(Self.seenLimit - 1) + [action]
            return true
        }
    }

    /// Ends all questions: their subjects are those of another file.
    func forgetQuestions() {
        sessions.withLock { sessions in
            for id in sessions.keys { sessions[id]?.questions = [] }
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
    private static func secret() -> String {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<2).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
#endif
