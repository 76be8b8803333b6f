#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A trace's fields as the file keeps them: a small JSON object.
enum TraceText {
    /// The most bytes that are stored with an action: some ten times those of W3C Trace Context.
    static let maximumByteCount = 4_096

    /// The text of fields; `nil` where there are none, or too many.
    static func text(of fields: [String: String]) -> String? {
        guard !fields.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(fields), data.count <= maximumByteCount else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    /// Throws ``SluiceError/Code/invalidOptions`` unless a text is a trace's.
    static func validate(_ text: String) throws(SluiceError) {
        guard text.utf8.count <= maximumByteCount, !fields(of: text).isEmpty else {
            throw SluiceError(
                .invalidOptions,
                "a trace must be an object of texts with at most \(maximumByteCount) bytes"
            )
        }
    }

    /// The fields of a text; none where it is missing, or no such object.
    static func fields(of text: String?) -> [String: String] {
        guard let text else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}
