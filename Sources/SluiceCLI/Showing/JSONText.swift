#if CommandLineTool
/// Writes JSON where the parts are JSON text already, or must keep their order.
enum JSONText {
    /// A string in quotes, with everything escaped that JSON asks for, and what a terminal would obey.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where Visible.isUnseen(scalar): result += escape(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A string, or `null`.
    static func string(_ text: String?) -> String {
        text.map { string($0) } ?? "null"
    }

    /// An object on one line.
    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }

    /// An array on one line.
    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    /// JSON text on one line.
    ///
    /// A line break can only stand between tokens, since strings have theirs escaped: a space means the same.
    static func onOneLine(_ json: String) -> String {
        guard json.utf8.contains(where: isLineBreak) else { return json }
        return String(decoding: json.utf8.map { isLineBreak($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }

    /// JSON text on one line, without what a terminal would obey.
    ///
    /// That can only stand inside strings, where its escape means the same.
    static func visible(_ json: String) -> String {
        let line = onOneLine(json)
        guard line.unicodeScalars.contains(where: Visible.isUnseen) else { return line }
        return line.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "\t": result += " "
            case _ where Visible.isUnseen(scalar): result += escape(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { unit in
            unit.map { word in
                let digits = String(word, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }
}
#endif
