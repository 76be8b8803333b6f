#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// A duration on the command line: `90`, `90s`, `200ms`, `15m`, `2h`, `7d`, `2w`.
struct Span: ExpressibleByArgument {
    let duration: Duration

    init?(argument: String) {
        // The longest unit first, as `s` ends `ms` too.
        let units = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)]
        let unit = units.first { argument.hasSuffix($0.0) } ?? ("", 1)
        guard let value = Double(argument.dropLast(unit.0.count)), value.isFinite, value >= 0 else {
            return nil
        }
        let seconds = value * unit.1
        guard seconds <= Self.longest else { return nil }
        duration = .seconds(seconds)
    }

    init(seconds: Int) { duration = .seconds(seconds) }

    var defaultValueDescription: String { "\(duration.components.seconds)s" }

    /// A hundred years, the library's limit.
    private static let longest = 3_153_600_000.0
}
#endif
