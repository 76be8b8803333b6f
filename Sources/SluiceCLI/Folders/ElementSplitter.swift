#if CommandLineTool
internal import SystemPackage

/// Splits a JSON array that arrives in pieces into its elements, and holds at most one of them.
///
/// It does not check elements: an element is the text between two commas.
struct ElementSplitter {
    /// An element, or an error.
    enum Element: Hashable {
        case bytes([UInt8])
        /// An element that exceeded the limit; its bytes are dropped.
        case tooLong
        /// The array is incomplete or missing; no elements follow.
        case broken(String)
    }

    private enum Place {
        case before
        case inside
        case behind
        case lost
    }

    let maximumByteCount: Int
    private var place = Place.before
    private var partial: [UInt8] = []
    private var isSkipping = false
    /// The nesting of arrays and objects in the element.
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    private var hasComma = false

    init(maximumByteCount: Int) {
        self.maximumByteCount = maximumByteCount
    }

    /// Adds the next piece, and passes on the elements that it completes.
    mutating func take(_ piece: UnsafeRawBufferPointer, _ element: (Element) -> Void) {
        for byte in piece { take(byte, element) }
    }

    /// Returns the remaining elements or errors at the end of the input.
    func last() -> [Element] {
        switch place {
        case .before: return [.broken("it is empty")]
        case .inside:
            let isWhole = depth == 0 && !isInString && !isSkipping && !partial.isEmpty
            return (isWhole ? [.bytes(partial)] : []) + [.broken("it ends in its midst")]
        case .behind, .lost: return []
        }
    }

    private mutating func take(_ byte: UInt8, _ element: (Element) -> Void) {
        let isSpace = byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
        switch place {
        case .inside where isInString: takeInString(byte)
        case .inside: takeInside(byte, isSpace: isSpace, element)
        case _ where isSpace: break
        case .before where byte == UInt8(ascii: "["): place = .inside
        case .before:
            place = .lost
            element(.broken("it is no JSON array"))
        case .behind:
            place = .lost
            element(.broken("something follows its end"))
        case .lost: break
        }
    }

    private mutating func takeInString(_ byte: UInt8) {
        keep(byte)
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
    }

    private mutating func takeInside(_ byte: UInt8, isSpace: Bool, _ element: (Element) -> Void) {
        switch byte {
        case UInt8(ascii: ",") where depth == 0:
            element(endElement())
            hasComma = true
        case UInt8(ascii: "]") where depth == 0:
            if !partial.isEmpty || isSkipping || hasComma { element(endElement()) }
            place = .behind
        case UInt8(ascii: "\""):
            isInString = true
            keep(byte)
        case UInt8(ascii: "["), UInt8(ascii: "{"):
            depth += 1
            keep(byte)
        case UInt8(ascii: "]"), UInt8(ascii: "}"):
            depth = max(depth - 1, 0)
            keep(byte)
        case _ where isSpace && partial.isEmpty: break
        default: keep(byte)
        }
    }

    private mutating func keep(_ byte: UInt8) {
        guard !isSkipping, partial.count < maximumByteCount else {
            isSkipping = true
            partial = []
            return
        }
        partial.append(byte)
    }

    private mutating func endElement() -> Element {
        defer {
            partial = []
            isSkipping = false
        }
        return isSkipping ? .tooLong : .bytes(partial)
    }
}
#endif
