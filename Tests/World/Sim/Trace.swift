/// The last things that happened in a world.
struct Trace {
    /// Whether anybody will read it: to write it costs a tenth of a world's time.
    var isKept = false
    private var lines: [String] = []
    private static let limit = 40_000

    mutating func note(_ line: @autoclosure () -> String) {
        if lines.count >= 2 * Self.limit { lines.removeFirst(Self.limit) }
        lines.append(line())
    }

    var text: String { lines.suffix(Self.limit).joined(separator: "\n") }
}

extension World {
    func note(_ text: @autoclosure () -> String) {
        guard trace.isKept else { return }
        let milliseconds = Int(now / .microseconds(1))
        trace.note("\(milliseconds) \(process.name): \(text())")
    }
}
