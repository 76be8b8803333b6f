#if CommandLineTool
internal import Sluice
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Splits bytes that arrive in pieces into lines, and holds at most one line.
struct LineSplitter {
    /// A line without its end.
    enum Line: Hashable {
        case bytes([UInt8])
        /// The line exceeded the limit; only its beginning is kept.
        case tooLong(beginning: [UInt8])
    }

    /// How much is kept of a line that is too long.
    private static let beginningByteCount = 4_096

    let maximumByteCount: Int
    private var partial: [UInt8] = []
    private var isSkipping = false

    init(maximumByteCount: Int) {
        self.maximumByteCount = maximumByteCount
    }

    /// Adds the next piece, and passes on the lines that it completes.
    mutating func take(_ piece: UnsafeRawBufferPointer, _ line: (Line) -> Void) {
        var rest = piece
        while let start = rest.baseAddress, !rest.isEmpty {
            guard let end = memchr(start, 0x0A, rest.count) else { return keep(rest) }
            let count = UnsafeRawPointer(end) - start
            keep(UnsafeRawBufferPointer(rebasing: rest[..<count]))
            line(endLine())
            rest = UnsafeRawBufferPointer(rebasing: rest[(count + 1)...])
        }
    }

    /// Returns the last line, if the input does not end with a line break.
    mutating func takeLast() -> Line? {
        partial.isEmpty && !isSkipping ? nil : endLine()
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        guard !isSkipping, partial.count + bytes.count <= maximumByteCount else {
            isSkipping = true
            let missing = max(Self.beginningByteCount - partial.count, 0)
            partial = Array(partial.prefix(Self.beginningByteCount)) + bytes.prefix(missing)
            return
        }
        partial.append(contentsOf: bytes)
    }

    private mutating func endLine() -> Line {
        defer {
            partial = []
            isSkipping = false
        }
        if isSkipping { return .tooLong(beginning: partial) }
        if partial.last == 0x0D { partial.removeLast() }
        return .bytes(partial)
    }
}
#endif
