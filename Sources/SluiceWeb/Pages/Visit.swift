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
    /// The rows that live updates have sent: they stay, however many others come before them.
    var shown: Set<String> = []
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

    /// The first items of a list, and the ones that live updates have sent.
    func onPage<Item>(_ items: some Collection<Item>, limit: Int, key: (Item) -> String) -> [Item] {
        items.prefix(limit) + items.dropFirst(limit).filter { shown.contains(key($0)) }
    }

    /// How many items are read for a page.
    func readLimit(_ limit: Int) -> Int { shown.isEmpty ? limit : limit + LiveUpdates.rowLimit }

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
