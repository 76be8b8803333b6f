#if Web
/// A small line of values over the last ten minutes, with its last and its largest value as text.
struct Plot {
    let name: String
    let unit: String
    let values: [Double]

    private static let width = 240.0
    private static let height = 48.0

    var html: HTML {
        let last = Self.text(values.last ?? 0)
        let most = values.max() ?? 0
        let label = "\(name): now \(last)\(unit), at most \(Self.text(most))\(unit) in the last ten minutes"
        return """
            <figure class="plot"><figcaption>\(name)</figcaption><strong>\(last)\(unit)</strong>\
            <svg viewBox="0 0 240 48" role="img" aria-label="\(label)" preserveAspectRatio="none">\
            <polyline points="\(points(most))"/></svg>\
            <small>at most \(Self.text(most))\(unit)</small></figure>
            """
    }

    private func points(_ most: Double) -> String {
        let step = Self.width / Double(max(values.count - 1, 1))
        return values.enumerated()
            .map { index, value in
                let height = most > 0 ? value / most * (Self.height - 4) : 0
                return "\(Self.tenths(Double(index) * step)),\(Self.tenths(Self.height - 2 - height))"
            }
            .joined(separator: " ")
    }

    private static func tenths(_ value: Double) -> String { String((value * 10).rounded() / 10) }

    /// Two digits of small numbers, whole large ones.
    static func text(_ value: Double) -> String { value < 10 ? tenths(value) : String(Int(value.rounded())) }
}
#endif
