#if CommandLineTool
internal import Sluice

/// The last bytes of a command's standard error, for the error text of its attempt.
struct ErrorTail {
    /// More than fits into an error text, since empty lines are left out.
    private static let byteCount = 2 * SluiceError.maximumTextByteCount

    private var bytes: [UInt8] = []
    /// Whether earlier bytes were dropped.
    private var isCut = false

    /// Adds bytes and drops the oldest.
    mutating func take(_ piece: UnsafeRawBufferPointer) {
        if piece.count > Self.byteCount {
            // Its beginning is lost, and so they end nowhere.
            bytes.removeAll()
            isCut = true
        }
        bytes.append(contentsOf: piece.suffix(Self.byteCount))
        // Twice as many are kept, so that not every short line moves all of them.
        guard bytes.count > 2 * Self.byteCount else { return }
        bytes.removeFirst(bytes.count - Self.byteCount)
        isCut = true
    }

    /// Returns a text with its last lines, which are whole if they fit, on one line and printable.
    ///
    /// - Parameter head: Text before the lines.
    func text(after head: String) -> String {
        let room = SluiceError.maximumTextByteCount - head.utf8.count - 2
        var lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            .filter { !$0.allSatisfy(\.isWhitespace) }
        // It may have lost its beginning.
        if isCut, lines.count > 1 { lines.removeFirst() }
        var text = ""
        for line in lines.reversed() {
            let longer = Visible.text(String(line)) + (text.isEmpty ? "" : "\\n" + text)
            guard longer.utf8.count <= room else {
                if text.isEmpty { text = Self.end(of: line, room) }
                break
            }
            text = longer
        }
        return text.isEmpty ? head : "\(head): \(text)"
    }

    /// Returns the end of a line that is too long.
    private static func end(of line: Substring, _ room: Int) -> String {
        let ellipsis = "…"
        var count = ellipsis.utf8.count
        var parts: [String] = []
        for scalar in line.unicodeScalars.reversed() {
            let part = Visible.text(String(scalar))
            count += part.utf8.count
            if count > room { break }
            parts.append(part)
        }
        return ellipsis + parts.reversed().joined()
    }
}
#endif
