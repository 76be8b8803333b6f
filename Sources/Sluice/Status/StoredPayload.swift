/// A payload with what is needed to read it; equal if the text is.
package struct StoredPayload: Sendable, Hashable, CustomStringConvertible {
    let text: String
    let version: Int
    let reader: PayloadReader

    package init(text: String, version: Int, reader: PayloadReader) {
        (self.text, self.version, self.reader) = (text, version, reader)
    }

    package var description: String { "a payload" }

    package static func == (left: StoredPayload, right: StoredPayload) -> Bool {
        left.text == right.text && left.version == right.version
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
