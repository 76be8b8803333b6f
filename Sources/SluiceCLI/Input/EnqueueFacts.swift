#if CommandLineTool
internal import ArgumentParser
internal import Sluice

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
            valueName: "span or time"
        )
    )
    var notBefore: PointInTime?

    @Option(help: ArgumentHelp("The action does not start after this time.", valueName: "span or time"))
    var expiresAt: PointInTime?

    @Option(
        help: ArgumentHelp("The version of the kind that the payload is written in.", valueName: "number")
    )
    var payloadVersion = 1

    @Option(
        help: ArgumentHelp(
            "A key: the queue gets no second action with the same, while the first waits or runs.",
            valueName: "text"
        )
    )
    var key: String?

    @Option(
        help: ArgumentHelp(
            "If the key is taken: keep-first stores nothing, replace changes the first, refuse fails.",
            valueName: "policy"
        )
    )
    var keyPolicy: KeyPolicy?

    @Option(
        help: ArgumentHelp(
            "How long the key stays taken after its action has ended: 90s, 2h, 7d (default: not at all).",
            valueName: "span"
        )
    )
    var keepKey: Span?

    @Option(help: ArgumentHelp("A group that the action starts; can be repeated.", valueName: "name"))
    var group: [String] = []

    @Option(help: ArgumentHelp("A group that the action is a member of; can be repeated.", valueName: "name"))
    var member: [String] = []

    enum KeyPolicy: String, ExpressibleByArgument, CaseIterable {
        case keepFirst = "keep-first"
        case replace
        case refuse

        var policy: DeduplicationKey.Policy {
            switch self {
            case .keepFirst: .keepFirst
            case .replace: .replace
            case .refuse: .refuse
            }
        }
    }

    func validate() throws {
        if key == nil && (keyPolicy != nil || keepKey != nil) {
            throw ValidationError("--key-policy and --keep-key need --key")
        }
        if payloadVersion < 1 {
            throw ValidationError("--payload-version is \(payloadVersion); give 1 or more")
        }
    }

    var options: EnqueueOptions {
        EnqueueOptions(
            notBefore: notBefore?.date,
            expiresAt: expiresAt?.date,
            tag: tag,
            gate: gate.map { GateName($0) },
            key: key.map { text in
                DeduplicationKey(
                    text,
                    policy: (keyPolicy ?? .keepFirst).policy,
                    retention: keepKey?.duration ?? .zero
                )
            },
            startsGroups: group.map { GroupName($0) },
            memberOf: member.map { GroupName($0) }
        )
    }
}
#endif
