#if Web
/// JSON text as lines and as nested lists.
///
/// Numbers stay as they are written: 64 bits are not rounded.
struct JSONTree {
    private indirect enum Node {
        case scalar(String)
        case list([Node])
        case object([(name: String, value: Node)])
    }

    private let root: Node

    /// Nested deeper, or with more values, the text is shown as it is.
    private static let maximumDepth = 64
    private static let maximumCount = 5_000

    /// Returns `nil` if the text is no JSON, or is too large to be shown as a tree.
    init?(_ text: String) {
        var reader = Reader(bytes: Array(text.utf8))
        guard let root = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self.root = root
    }

    var html: HTML { Self.html(root) }

    /// One value a line, indented by two spaces a level.
    var lines: [String] {
        var lines: [String] = []
        Self.write(root, indent: "", prefix: "", suffix: "", into: &lines)
        return lines
    }

    /// The text on one line.
    var compact: String { Self.compact(root) }

    private static func compact(_ node: Node) -> String {
        switch node {
        case .scalar(let text): text
        case .list(let items): "[\(items.map(compact).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { "\($0.name):\(compact($0.value))" }.joined(separator: ","))}"
        }
    }

    private static func html(_ node: Node) -> HTML {
        switch node {
        case .scalar(let text): return "<code>\(text)</code>"
        case .list(let items):
            let rows = items.enumerated().map {
                "<li><span>\($0.offset)</span> \(html($0.element))</li>" as HTML
            }
            return nested("[\(items.count)]", rows)
        case .object(let members):
            let rows = members.map { "<li><span>\($0.name)</span> \(html($0.value))</li>" as HTML }
            return nested("{\(members.count)}", rows)
        }
    }

    private static func nested(_ summary: String, _ rows: [HTML]) -> HTML {
        guard !rows.isEmpty else { return "<code>\(summary)</code>" }
        return "<details open><summary>\(summary)</summary><ul class=\"tree\">\(rows)</ul></details>"
    }

    private static func write(
        _ node: Node,
        indent: String,
        prefix: String,
        suffix: String,
        into lines: inout [String]
    ) {
        let (open, close, children): (String, String, [(String, Node)])
        switch node {
        case .scalar(let text): return lines.append(indent + prefix + text + suffix)
        case .list(let items): (open, close, children) = ("[", "]", items.map { ("", $0) })
        case .object(let members):
            (open, close, children) = ("{", "}", members.map { ("\($0.name): ", $0.value) })
        }
        guard !children.isEmpty else { return lines.append(indent + prefix + open + close + suffix) }
        lines.append(indent + prefix + open)
        for (index, child) in children.enumerated() {
            let comma = index == children.count - 1 ? "" : ","
            write(child.1, indent: indent + "  ", prefix: child.0, suffix: comma, into: &lines)
        }
        lines.append(indent + close + suffix)
    }

    /// Reads JSON that the store has checked; the texts of scalars and names keep their escapes.
    private struct Reader {
        let bytes: [UInt8]
        private var index = 0
        private var count = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return index == bytes.count
            }
        }

        mutating func value(depth: Int) -> Node? {
            skipSpace()
            count += 1
            guard index < bytes.count, depth < maximumDepth, count <= maximumCount else { return nil }
            switch bytes[index] {
            case UInt8(ascii: "{"): return object(depth)
            case UInt8(ascii: "["): return list(depth)
            case UInt8(ascii: "\""): return string().map(Node.scalar)
            default: return word().map(Node.scalar)
            }
        }

        private mutating func object(_ depth: Int) -> Node? {
            var members: [(name: String, value: Node)] = []
            index += 1
            guard !take("}") else { return .object([]) }
            repeat {
                skipSpace()
                guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
                members.append((name, value))
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func list(_ depth: Int) -> Node? {
            var items: [Node] = []
            index += 1
            guard !take("]") else { return .list([]) }
            repeat {
                guard let value = value(depth: depth + 1) else { return nil }
                items.append(value)
            } while take(",")
            return take("]") ? .list(items) : nil
        }

        private mutating func string() -> String? {
            let start = index
            guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
            index += 1
            while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
            }
            guard index < bytes.count else { return nil }
            index += 1
            return String(decoding: bytes[start..<index], as: UTF8.self)
        }

        private mutating func word() -> String? {
            let start = index
            let ends = Set(",]} \n\t\r".utf8)
            while index < bytes.count, !ends.contains(bytes[index]) { index += 1 }
            let word = String(decoding: bytes[start..<index], as: UTF8.self)
            guard ["true", "false", "null"].contains(word) || Double(word) != nil else { return nil }
            return word
        }

        private mutating func skipSpace() {
            while index < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[index]) { index += 1 }
        }

        private mutating func take(_ mark: Unicode.Scalar) -> Bool {
            skipSpace()
            guard index < bytes.count, bytes[index] == UInt8(ascii: mark) else { return false }
            index += 1
            return true
        }
    }
}
#endif
