#if Web
import Sluice
import TestSupport
import Testing

@testable import SluiceWeb

@Suite("Sessions of the operator's page", .watched)
struct SessionsTests {
    private let sessions = Sessions()

    /// A browser whose cookie has come back.
    private func browser() -> String {
        let (session, _) = sessions.session(nil)
        return sessions.session(session.id).session.id
    }

    private func question(_ count: Int) -> Question {
        Question(Form("act=cancel"), about: Array(repeating: .gate("g"), count: count))
    }

    @Test("Requests without a cookie end no session of a browser, and those with one none of a person")
    func places() {
        let (browser, _) = sessions.session(nil)
        #expect(!sessions.session(browser.id).isNew)
        let person = sessions.logIn(Operator(name: "ada", role: .act), replacing: nil)
        for _ in 0..<2_000 { _ = sessions.logIn(Operator(name: "wall", role: .look), replacing: nil) }
        for _ in 0..<3_000 { _ = sessions.session(nil) }
        #expect(!sessions.session(browser.id).isNew)
        for _ in 0..<2_000 { _ = sessions.session(sessions.session(nil).session.id) }
        #expect(sessions.session(browser.id).isNew)
        #expect(sessions.person(of: person.id)?.name == "ada")
    }

    @Test("Of a person's browsers the one that was away for the longest has to log in again")
    func logIns() {
        let (ada, wall) = (Operator(name: "ada", role: .act), Operator(name: "wall", role: .look))
        let other = sessions.logIn(wall, replacing: nil)
        let first = (0..<20).map { _ in sessions.logIn(ada, replacing: nil).id }
        #expect(sessions.person(of: first[0]) == ada)
        let last = sessions.logIn(ada, replacing: nil)
        #expect(first.filter { sessions.person(of: $0) == nil } == [first[1]])
        #expect(sessions.person(of: last.id) == ada)
        #expect(sessions.person(of: other.id) == wall)
    }

    @Test("A log-in that replaces a session ends that one")
    func replacing() {
        let person = Operator(name: "ada", role: .act)
        let old = sessions.logIn(person, replacing: nil)
        let new = sessions.logIn(person, replacing: old.id)
        #expect(sessions.person(of: old.id) == nil)
        #expect(sessions.person(of: new.id) == person)
    }

    @Test("A question is answered once, by the browser that was asked")
    func answers() {
        let (asked, other) = (browser(), browser())
        let token = sessions.ask(question(3), asked)
        #expect(sessions.question(token, other) == nil)
        #expect(!sessions.answer(token, other))
        #expect(sessions.question(token, asked)?.subjects.count == 3)
        #expect(sessions.answer(token, asked))
        #expect(!sessions.answer(token, asked))
        #expect(sessions.question(token, asked) == nil)
    }

    @Test("A browser has its last 20 questions; a request without a cookie has none")
    func manyQuestions() {
        let asked = browser()
        let tokens = (0..<21).map { _ in sessions.ask(question(1), asked) }
        #expect(tokens.filter { sessions.question($0, asked) == nil } == [tokens[0]])
        let (stranger, _) = sessions.session(nil)
        let token = sessions.ask(question(1), stranger.id)
        #expect(sessions.question(token, stranger.id) == nil)
    }

    @Test("Large questions end those of the browsers that were away for longer, and none of their own")
    func largeQuestions() {
        let (away, other, asking) = (browser(), browser(), browser())
        let tokens = [away, other].map { sessions.ask(question(200_000), $0) }
        let own = sessions.ask(question(90_000), asking)
        #expect(sessions.question(tokens[0], away) != nil)
        let last = sessions.ask(question(90_000), asking)
        #expect(sessions.question(tokens[0], away) == nil)
        #expect(sessions.question(tokens[1], other) != nil)
        #expect(sessions.question(own, asking) != nil)
        #expect(sessions.question(last, asking) != nil)
    }
}
#endif
