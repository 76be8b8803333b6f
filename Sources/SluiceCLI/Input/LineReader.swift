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

/// Reads a file, or standard input, line by line.
struct LineReader {
    /// Bytes that one call reads.
    private static let pieceSize = 256 * 1_024

    private let descriptor: FileDescriptor
    private var splitter: LineSplitter
    private var lines: [LineSplitter.Line] = []
    private var next = 0
    private var isAtEnd = false
    /// Whether the input may still begin with a byte order mark, which some editors add.
    private var isAtBeginning = true
    /// The size of the input; `nil` if it is not a plain file.
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

    /// The next part of the input.
    enum Next: Hashable {
        case line(LineSplitter.Line)
        /// There is no complete line yet, and `isOver` has ended the wait.
        case nothingYet
        case end
    }

    /// How often a wait checks whether to continue, in milliseconds.
    private static let interval: Int32 = 50

    /// Returns the next line.
    ///
    /// - Parameters:
    ///   - isOver: Whether to stop waiting for a line.
    ///   - isCut: Whether to ignore even available input.
    mutating func nextLine(
        unless isOver: () -> Bool = { false },
        until isCut: () -> Bool = { false }
    ) throws -> Next {
        while next == lines.count && !isAtEnd {
            if isCut() { return .nothingYet }
            while !hasInput() {
                if isOver() { return .nothingYet }
            }
            try readPiece()
        }
        guard next < lines.count else { return .end }
        defer { (next, isAtBeginning) = (next + 1, false) }
        if isAtBeginning, case .bytes(let bytes) = lines[next], bytes.starts(with: JSONGrammar.byteOrderMark)
        {
            return .line(.bytes(Array(bytes.dropFirst(JSONGrammar.byteOrderMark.count))))
        }
        return .line(lines[next])
    }

    /// Waits up to an interval, and returns whether a read would not block.
    private func hasInput() -> Bool {
        var wish = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        // The read will report an error.
        return poll(&wish, 1, Self.interval) != 0 && (wish.revents != 0 || errno != EINTR)
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
