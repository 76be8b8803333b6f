#if CommandLineTool
import ArgumentParser
import Sluice
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("Acts of the tool", .watched)
struct ActVerbTests {
    /// The verb that does a kind of act; `nil` for what the tool does not offer.
    private static func verb(of kind: Act.Kind) -> String? {
        switch kind {
        case .cancel, .cancelAll: "remove"
        case .move, .moveToFront: "move"
        case .edit: "edit"
        case .reschedule: "reschedule"
        case .setExpiry: "expire"
        case .skipHead: "skip"
        case .retryNow: "retry"
        case .hold: "hold"
        case .endHolds, .endHold: "resume"
        case .openGate: "gate open"
        case .closeGate: "gate close"
        case .requeue, .requeueAtEnd, .requeueAll: "dead requeue"
        case .purge, .purgeAll: "dead purge"
        case .setTag, .runNow: nil
        }
    }

    @Test("Each kind of act has its verb", arguments: Act.Kind.allCases)
    func verbs(kind: Act.Kind) throws {
        guard let verb = Self.verb(of: kind) else { return }
        var command: any ParsableCommand.Type = SluiceCommand.self
        for word in verb.split(separator: " ") {
            command = try #require(
                command.configuration.subcommands.first { $0._commandName == word },
                "\(verb)"
            )
        }
    }
}
#endif
