#if CommandLineTool
internal import SystemPackage

/// Reads the elements of a file with a JSON array, one after the other.
struct ElementReader {
    /// Bytes that one call reads.
    private static let pieceSize = 64 * 1_024

    private let descriptor: FileDescriptor
    private let byteCount: Int
    private var splitter: ElementSplitter
    private var elements: [ElementSplitter.Element] = []
    private var next = 0
    private var isAtEnd = false
    private var position = 0

    init(path: String, maximumByteCount: Int) throws(Refusal) {
        (descriptor, byteCount) = try PlainFile.open(path)
        splitter = ElementSplitter(maximumByteCount: maximumByteCount)
    }

    /// The part of the file that has been read.
    var fraction: Double { byteCount > 0 ? min(Double(position) / Double(byteCount), 1) : 1 }

    /// Returns the next element; `nil` at the end.
    mutating func nextElement() -> ElementSplitter.Element? {
        while next == elements.count && !isAtEnd { readPiece() }
        guard next < elements.count else { return nil }
        defer { next += 1 }
        return elements[next]
    }

    func close() {
        try? descriptor.close()
    }

    private mutating func readPiece() {
        elements.removeAll(keepingCapacity: true)
        next = 0
        do {
            let count = try withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 1) { buffer in
                let count = try descriptor.read(into: buffer)
                splitter.take(UnsafeRawBufferPointer(rebasing: buffer[..<count])) { elements.append($0) }
                return count
            }
            position += count
            guard count == 0 else { return }
            elements += splitter.last()
        } catch {
            elements.append(.broken("it cannot be read: \(error)"))
        }
        isAtEnd = true
    }
}
#endif
