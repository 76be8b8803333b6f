#if CommandLineTool
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Splits bytes that come in pieces into lines, and holds no more than one line.
struct LineSplitter {
    /// A line without its end.
    enum Line: Hashable {
        case bytes([UInt8])
        /// It has more bytes than allowed; they are gone.
        case tooLong
    }

    let maximumByteCount: Int
    private var partial: [UInt8] = []
    private var isSkipping = false

    init(maximumByteCount: Int) {
        self.maximumByteCount = maximumByteCount
    }

    /// Takes the next piece and hands out the lines that it ends.
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

    /// The line that the input ends with, if it does not end with a line's end.
    mutating func takeLast() -> Line? {
        partial.isEmpty && !isSkipping ? nil : endLine()
    }

    private mutating func keep(_ bytes: UnsafeRawBufferPointer) {
        guard !isSkipping, partial.count + bytes.count <= maximumByteCount else {
            isSkipping = true
            partial = []
            return
        }
        partial.append(contentsOf: bytes)
    }

    private mutating func endLine() -> Line {
        defer {
            partial = []
            isSkipping = false
        }
        if isSkipping { return .tooLong }
        if partial.last == 0x0D { partial.removeLast() }
        return .bytes(partial)
    }
}

/// Reads a file, or standard input, line by line.
struct LineReader {
    /// Bytes that one call reads.
    private static let pieceSize = 256 * 1_024

    private let descriptor: FileDescriptor
    private var splitter: LineSplitter
    private var lines: [LineSplitter.Line] = []
    private var next = 0
    private var isAtEnd = false
    /// The size of the input; `nil` if it is no plain file.
    let byteCount: Int64?
    /// How much of it has been read.
    private(set) var position: Int64 = 0

    /// Opens a file; `-` is standard input.
    init(path: String, maximumByteCount: Int) throws {
        splitter = LineSplitter(maximumByteCount: maximumByteCount)
        guard path != "-" else {
            descriptor = .standardInput
            byteCount = nil
            return
        }
        do {
            descriptor = try FileDescriptor.open(FilePath(path), .readOnly, options: .closeOnExec)
            byteCount = try? descriptor.seek(offset: 0, from: .end)
            if byteCount != nil { try descriptor.seek(offset: 0, from: .start) }
        } catch {
            throw Failure(.noInput, "\(path) cannot be read: \(error)")
        }
    }

    /// The next line; `nil` at the end.
    mutating func nextLine() throws -> LineSplitter.Line? {
        while next == lines.count && !isAtEnd { try readPiece() }
        guard next < lines.count else { return nil }
        defer { next += 1 }
        return lines[next]
    }

    func close() {
        if descriptor != .standardInput { try? descriptor.close() }
    }

    private mutating func readPiece() throws {
        lines.removeAll(keepingCapacity: true)
        next = 0
        let count: Int
        do {
            count = try withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 1) { buffer in
                let count = try descriptor.read(into: buffer)
                splitter.take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { lines.append($0) }
                return count
            }
        } catch {
            throw Failure(.noInput, "the input cannot be read: \(error)")
        }
        position += Int64(count)
        if count == 0 {
            isAtEnd = true
            if let last = splitter.takeLast() { lines.append(last) }
        }
    }
}
#endif
