#if CommandLineTool
/// The progress of a long command, on one line of a terminal.
struct ProgressBar {
    /// The shortest time between two updates.
    private static let interval: Duration = .milliseconds(100)
    private static let width = 30

    private let isShown: Bool
    private var lastDrawn: ContinuousClock.Instant?

    init(isShown: Bool) {
        self.isShown = isShown
    }

    /// Draws the bar.
    ///
    /// - Parameters:
    ///   - fraction: The part that is done; `nil` if the size is unknown.
    ///   - text: The text after the bar.
    mutating func update(fraction: Double?, _ text: String) {
        guard isShown else { return }
        let now = ContinuousClock.now
        if let lastDrawn, lastDrawn.duration(to: now) < Self.interval { return }
        lastDrawn = now
        Terminal.show("\r\u{1B}[K" + Self.bar(fraction, text))
    }

    /// Removes the bar, for a line of output.
    mutating func clear() {
        guard isShown, lastDrawn != nil else { return }
        lastDrawn = nil
        Terminal.show("\r\u{1B}[K")
    }

    private static func bar(_ fraction: Double?, _ text: String) -> String {
        guard let fraction else { return text }
        let done = Int(min(max(fraction, 0), 1) * Double(width))
        let bar = String(repeating: "#", count: done) + String(repeating: "·", count: width - done)
        return "[\(bar)] \(Int(min(max(fraction, 0), 1) * 100)) %  \(text)"
    }
}
#endif
