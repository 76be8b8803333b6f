#if CommandLineTool
/// Writes JSON from parts that are JSON text already, or must keep their order.
enum JSONText {
    /// Returns a string in quotes, with escapes for JSON and for control characters of terminals.
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

    /// Returns an object on one line.
    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Returns an array on one line.
    static func array(_ elements: [String]) -> String { "[" + elements.joined(separator: ",") + "]" }

    /// Returns JSON text on one line.
    ///
    /// Line breaks occur only between tokens, as strings have theirs escaped, so a space is equivalent.
    static func onOneLine(_ json: String) -> String {
        guard json.utf8.contains(where: isLineBreak) else { return json }
        return String(decoding: json.utf8.map { isLineBreak($0) ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
    }

    /// Returns JSON text on one line, without control characters of terminals.
    ///
    /// They occur only inside strings, where an escape is equivalent.
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
