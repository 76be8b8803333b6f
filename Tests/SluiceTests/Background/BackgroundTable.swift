import Foundation
import Testing

@testable import Sluice
@testable import SluiceBackground

/// The table of transitions that stands in the documentation.
struct BackgroundTable {
    /// What an event leads to in a state.
    struct Transition: Hashable, CustomTestStringConvertible {
        var next: BackgroundState
        var effects: [String]

        var testDescription: String { "\(next.rawValue): \(effects.joined(separator: ", "))" }
    }

    private struct Key: Hashable {
        let state: BackgroundState
        let event: String
    }

    private var rows: [Key: Transition] = [:]

    /// Reads the page.
    init() throws {
        let text = try String(
            contentsOf: Self.folder.appendingPathComponent("BackgroundWork.md"),
            encoding: .utf8
        )
        for line in text.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|").map {
                $0.trimmingCharacters(in: CharacterSet(charactersIn: " `"))
            }
            guard cells.count == 4, let state = BackgroundState(rawValue: cells[0]) else { continue }
            let next = try #require(BackgroundState(rawValue: cells[2]), "\(line)")
            let effects = cells[3].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let key = Key(state: state, event: cells[1])
            try #require(rows[key] == nil, "\(line) stands there twice")
            try #require(
                Self.events.contains { $0.name == cells[1] },
                "\(line) has an event that there is not"
            )
            rows[key] = Transition(next: next, effects: effects)
        }
    }

    /// What the page says; what it does not name changes nothing.
    subscript(state: BackgroundState, event: String) -> Transition {
        rows[Key(state: state, event: event)] ?? Transition(next: state, effects: [])
    }

    var count: Int { rows.count }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../Sources/Sluice/Sluice.docc")

    /// The events of the page, with what they stand for; a stop's end with the stop's number.
    static let events: [(name: String, make: @Sendable (Int) -> [BackgroundStateMachine.Event])] = [
        ("enteredForeground", { _ in [.enteredForeground] }),
        (
            "leftForeground (in progress)",
            { _ in [.leftForeground(.now), .leftForeground(.later(.seconds(5)))] }
        ),
        (
            "leftForeground (at rest)",
            { _ in [.leftForeground(.none), .leftForeground(.later(.seconds(6)))] }
        ),
        ("extensionRefused", { _ in [.extensionRefused] }),
        ("extensionExpired", { _ in [.extensionExpired] }),
        ("processingBegan", { _ in [.processingBegan] }),
        ("processingExpired", { _ in [.processingExpired] }),
        ("requestRefused", { _ in [.requestRefused] }),
        ("rested", { _ in [.rested(.none), .rested(.later(.seconds(6)))] }),
        ("stopped (nothing left)", { [.stopped($0, .none)] }),
        ("stopped (ready)", { [.stopped($0, .now), .stopped($0, .later(.seconds(5)))] }),
        ("stopped (later)", { [.stopped($0, .later(.seconds(6))), .stopped($0, .later(.seconds(3_600)))] }),
        ("workCame (nothing left)", { _ in [.workCame(.none)] }),
        (
            "workCame (work left)",
            { _ in [.workCame(.now), .workCame(.later(.seconds(5))), .workCame(.later(.seconds(3_600)))] }
        ),
        ("ended", { _ in [.ended] }),
    ]

    /// What leads to a state from the start.
    static func path(to state: BackgroundState) -> [BackgroundStateMachine.Event] {
        switch state {
        case .awaitingProcessing: []
        case .foreground: [.enteredForeground]
        case .extended: [.enteredForeground, .leftForeground(.now)]
        case .leaving: [.enteredForeground, .leftForeground(.none)]
        case .endingExtension: [.enteredForeground, .leftForeground(.now), .extensionExpired]
        case .processing: [.processingBegan]
        case .endingProcessing: [.processingBegan, .processingExpired]
        case .asleep: [.enteredForeground, .leftForeground(.none), .stopped(1, .none)]
        }
    }

    /// An effect in the words of the page.
    static func word(_ effect: BackgroundStateMachine.Effect) -> String {
        switch effect {
        case .run: "run"
        case .stop: "stop"
        case .beginExtension: "beginExtension"
        case .endExtension: "endExtension"
        case .requestProcessing: "requestProcessing"
        case .cancelRequest: "cancelRequest"
        case .endProcessing(let isDone): isDone ? "endProcessing (done)" : "endProcessing (not done)"
        }
    }
}
