#if CommandLineTool
internal import Sluice
internal import SluiceJSON
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

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
