#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// Colours, or none (SGR of ECMA-48).
struct Paint {
    enum Style: String {
        case bold = "1"
        case dim = "2"
        case reversed = "7"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case cyan = "36"
    }

    let isOn: Bool

    /// Returns the text in a style; unchanged without one.
    func callAsFunction(_ text: String, _ style: Style?) -> String {
        guard isOn, let style, !text.isEmpty else { return text }
        return "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }

    /// Returns the style of a queue's state: red needs a person, yellow waits for something.
    static func style(of state: QueueStatus.State) -> Style? {
        switch state {
        case .running: .green
        case .parked, .undecodable, .unknownKind, .noRoute: .red
        case .held, .gate, .retry: .yellow
        case .scheduled: .cyan
        case .stopped, .empty: .dim
        case .ready: nil
        }
    }
}
#endif
