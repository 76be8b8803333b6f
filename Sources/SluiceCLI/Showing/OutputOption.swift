#if CommandLineTool
internal import ArgumentParser

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Options for the output of a verb.
struct OutputOption: ParsableArguments {
    @Flag(help: "Answer with one JSON object a line.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "auto, always or never; auto is on a terminal, unless NO_COLOR is set.",
            valueName: "when"
        )
    )
    var color = ColorChoice.auto

    var paint: Paint {
        switch color {
        case .always: return Paint(isOn: true)
        case .never: return Paint(isOn: false)
        case .auto:
            let environment = ProcessInfo.processInfo.environment
            // https://no-color.org: present and not empty, whatever its value.
            let isWanted = environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
            return Paint(isOn: isWanted && Terminal.hasScreen)
        }
    }

    /// Prints one fact: a sentence, or an object.
    func answer(_ sentence: String, _ object: [(name: String, value: String)]) {
        let text = Terminal.hasScreen ? Hints.complete(sentence) : sentence
        Terminal.answer(json ? JSONText.object(object) : Visible.text(text))
    }
}
#endif
