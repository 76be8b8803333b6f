#if Web
internal import Foundation

/// A request that has been let in, with who sends it.
struct Visit: Sendable {
    /// The path below the page's prefix, such as `/queues`.
    let path: String
    let query: Form
    /// The fields of a POST; empty for others.
    let form: Form
    let session: Sessions.Session
    let person: Operator
    /// The prefix of all links.
    let prefix: String
    let now: Date

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
