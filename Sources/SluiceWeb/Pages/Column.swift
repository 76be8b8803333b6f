#if Web
/// A column of a table: its width does not depend on the rows, so that no update moves it.
struct Column: ExpressibleByStringLiteral {
    /// What it is wide enough for.
    enum Content: String {
        case box, id, number, word, time
    }

    let head: HTML
    /// `nil`: it has a part of what the others leave.
    let content: Content?

    init(_ head: HTML, _ content: Content? = nil) { (self.head, self.content) = (head, content) }

    init(stringLiteral head: String) { self.init("\(head)") }

    static func id(_ head: HTML) -> Column { Column(head, .id) }
    static func number(_ head: HTML) -> Column { Column(head, .number) }
    static func word(_ head: HTML) -> Column { Column(head, .word) }
    static func time(_ head: HTML) -> Column { Column(head, .time) }

    var html: HTML {
        let name = content.map { " class=\"\($0.rawValue)\"" as HTML } ?? ""
        return "<th scope=\"col\"\(name)>\(head)</th>"
    }
}
#endif
