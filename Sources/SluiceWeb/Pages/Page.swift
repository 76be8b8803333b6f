#if Web
/// What a page shows between its head and its foot.
struct Page: Sendable {
    /// The heading, and the window's title.
    let title: String
    /// The entry of the navigation that the page belongs to.
    let section: String
    /// Whether it is for somebody who has not logged in, so that it leads nowhere.
    let isBare: Bool
    private(set) var body: HTML = ""
    /// The parts that live updates replace, by the ids of their elements.
    private(set) var parts: [(id: String, html: HTML)] = []

    init(_ title: String, in section: String = "", isBare: Bool = false) {
        (self.title, self.section, self.isBare) = (title, section, isBare)
    }

    mutating func add(_ html: HTML) { body = "\(body)\(html)\n" }

    /// Makes an element whose contents live updates replace.
    ///
    /// - Parameter id: The same at each update; of letters, digits and hyphens.
    mutating func live(_ id: String, _ html: HTML, as element: String = "div") -> HTML {
        parts.append((id, html))
        return "<\(element) id=\"\(id)\" data-part>\(html)</\(element)>"
    }
}
#endif
