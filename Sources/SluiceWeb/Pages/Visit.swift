#if Web
internal import Foundation

/// A request that has been let in, with who sends it.
struct Visit: Sendable {
    /// The path below the page's prefix, such as `/queues`.
    let path: String
    let query: Form
    /// The fields of a POST; empty for others.
    var form = Form()
    /// That of nobody before the person is known.
    var session = Sessions.Session.ofNobody
    var person = Operator(name: "", role: .look)
    /// Whether the page is made again for its live updates: nobody has opened it.
    var isLive = false
    /// The session or the person that its connection belongs to; `nil` for strangers.
    var holder: String?
    /// The prefix of all links.
    let prefix: String
    let now: Date

    init(path: String, query: Form, prefix: String, now: Date) {
        (self.path, self.query, self.prefix, self.now) = (path, query, prefix, now)
    }

    var mayAct: Bool { person.role == .act }

    func checkRole() throws(PageError) {
        if !mayAct { throw PageError(.refused, "you may only look") }
    }

    /// A link below the prefix.
    func link(_ path: String, _ query: Form = Form()) -> String {
        let fields = query.encoded
        return prefix + path + (fields.isEmpty ? "" : "?\(fields)")
    }

    func link(_ path: String, _ name: String, _ value: some CustomStringConvertible) -> String {
        link(path, Form().setting(name, value.description))
    }
}
#endif
