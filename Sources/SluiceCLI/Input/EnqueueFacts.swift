#if CommandLineTool
internal import ArgumentParser
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The options of `enqueue` other than queue, kind, sort key and payload.
struct EnqueueFacts: ParsableArguments {
    @Option(
        help: ArgumentHelp("A name to find the action by, as in `sluice remove --tag`.", valueName: "text")
    )
    var tag: String?

    @Option(help: ArgumentHelp("A gate that must be open when the action starts.", valueName: "name"))
    var gate: String?

    @Option(
        help: ArgumentHelp(
            "When the action gets its place in the order; until then it blocks nothing.",
            valueName: "time"
        )
    )
    var notBefore: DateTime?

    @Option(help: ArgumentHelp("The action does not start after this time.", valueName: "time"))
    var expiresAt: DateTime?

    @Option(
        help: ArgumentHelp("The version of the kind that the payload is written in.", valueName: "number")
    )
    var payloadVersion = 1

    func validate() throws {
        if payloadVersion < 1 {
            throw ValidationError("--payload-version is \(payloadVersion); give 1 or more")
        }
    }

    var options: EnqueueOptions {
        EnqueueOptions(
            notBefore: notBefore?.date,
            expiresAt: expiresAt?.date,
            tag: tag,
            gate: gate.map { GateName($0) }
        )
    }
}

extension DateTime: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }

    var date: Date { Date(timeIntervalSince1970: Double(microseconds) / 1_000_000) }
}
#endif
