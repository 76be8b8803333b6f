/// A gate that a commit has opened.
package struct GateOpening: Sendable, Hashable {
    package let gate: GateName
    /// The time over which the starts of waiting actions are spread.
    package let spread: Duration
}

extension GateOpening {
    /// The part of a closing over which the starts after it are spread.
    ///
    /// The first start that the server refuses closes the gate again, before most of the others.
    private static let spreadPart = 10
    /// Long enough for the first answer of a server to come before most of the starts.
    private static let shortestSpread: Duration = .seconds(1)
    /// A server that was down for hours needs no tenth of that to recover.
    private static let longestSpread: Duration = .seconds(60)

    /// Creates the opening at the end of a closing; `nil` if somebody has opened the gate.
    init(of gate: GateName, closedFor length: Duration?) {
        let spread = length.map {
            min(max($0 / Self.spreadPart, Self.shortestSpread), Self.longestSpread)
        }
        self.init(gate: gate, spread: spread ?? .zero)
    }
}
