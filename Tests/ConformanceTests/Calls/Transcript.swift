import Foundation
import Sluice

/// Words for what calls return, that are equal where the values are.
enum Transcript {
    static func text(_ value: Any) -> String {
        switch value {
        case let error as SluiceError: return "error \(error.code): \(withoutMarks(error.message))"
        case is Void: return "()"
        case let date as Date:
            return date.ISO8601Format(.iso8601(timeZone: .gmt, includingFractionalSeconds: true))
        case let duration as Duration: return "\(duration)"
        case let id as ActionID: return "\(id)"
        case let string as String: return "\"\(withoutMarks(string))\""
        case let number as any BinaryInteger: return "\(number)"
        case let flag as Bool: return "\(flag)"
        case let list as [Any]: return "[" + list.map(text).joined(separator: ", ") + "]"
        default: return parts(of: value)
        }
    }

    /// A value by its stored properties, without those that are empty.
    private static func parts(of value: Any) -> String {
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional: return mirror.children.first.map { text($0.value) } ?? "nil"
        case .enum:
            guard let child = mirror.children.first else { return "\(value)" }
            return "\(child.label ?? "")(\(text(child.value)))"
        case .set: return mirror.children.map { text($0.value) }.sorted().joined(separator: ", ")
        default:
            guard !mirror.children.isEmpty else { return "\(value)" }
            // How a payload is decoded is of the broker.
            let parts = mirror.children.filter { $0.label != "reader" }.map {
                (label: $0.label ?? "", text: text($0.value))
            }
            if parts.count == 1 { return parts[0].text }
            let told = parts.filter { !["nil", "[]", "[:]", "false"].contains($0.text) }
            return "\(type(of: value))(" + told.map { "\($0.label): \($0.text)" }.joined(separator: ", ")
                + ")"
        }
    }

    /// What only one of two transcripts has.
    static func differences(_ left: [String], _ right: [String]) -> String {
        right.difference(from: left).map { change in
            switch change {
            case .remove(_, let line, _): "- \(line)"
            case .insert(_, let line, _): "+ \(line)"
            }
        }
        .joined(separator: "\n")
    }

    /// A text without what is another one in each run: the names of processes, and keys.
    static func withoutMarks(_ text: String) -> String {
        text.replacing(/[\w.-]+\/\d{2,}\b/, with: "PROCESS").replacing(/process \d+/, with: "PROCESS")
            .replacing(/[0-9A-F]{8}-[0-9A-F-]{27}/, with: "UUID")
    }
}
