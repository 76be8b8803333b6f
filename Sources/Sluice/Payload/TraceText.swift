internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The fields of a trace as the file stores them: a small JSON object.
enum TraceText {
    /// The most bytes that are stored with an action: about ten times those of W3C Trace Context.
    static let maximumByteCount = 4_096

    static func text(of fields: [String: String]) -> String? {
        guard !fields.isEmpty else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(fields), data.count <= maximumByteCount else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    static func validate(_ text: String) throws(SluiceError) {
        guard text.utf8.count <= maximumByteCount, !fields(of: text).isEmpty else {
            let message = "a trace must be an object of texts with at most \(maximumByteCount) bytes"
            throw SluiceError(.invalidOptions, message)
        }
    }

    static func fields(of text: String?) -> [String: String] {
        guard let text else { return [:] }
        return (try? JSONDecoder().decode([String: String].self, checking: text)) ?? [:]
    }
}
