/// A line of a log whose writer may be killed while it writes.
///
/// Linux writes a file page by page, and a kill ends that between two pages. If all that is written to a file
/// are lines of 256 bytes, none of them lies in two pages. Empty lines fill them up.
package enum WholeLine {
    private static let size = 256

    package static func bytes(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        precondition(bytes.count < size, "a line of a log is too long: \(text)")
        return bytes + Array(repeating: UInt8(ascii: "\n"), count: size - bytes.count)
    }
}
