import Testing

/// A place where a rule is broken.
struct Violation: Equatable, CustomStringConvertible {
    var path: String
    var line: Int
    var message: String

    var description: String { "\(path):\(line): \(message)" }
}

/// Fails with one line for each violation, in the form that editors can jump to.
func expectNone(_ violations: [Violation], sourceLocation: SourceLocation = #_sourceLocation) {
    let list = violations.map { "\n\($0)" }.joined()
    let isClean = violations.isEmpty
    #expect(isClean, "\(violations.count) violations:\(list)", sourceLocation: sourceLocation)
}
