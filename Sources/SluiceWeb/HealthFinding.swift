#if Web
/// A problem or a note for the operator, with what to do about it.
public struct HealthFinding: Sendable, Hashable {
    /// Whether it needs a person.
    public let isProblem: Bool
    /// The problem, in a sentence.
    public let text: String
    /// What to do.
    public let advice: String

    /// - Parameters:
    ///   - isProblem: Whether it needs a person.
    ///   - text: The problem, in a sentence.
    ///   - advice: What to do.
    public init(isProblem: Bool, text: String, advice: String) {
        (self.isProblem, self.text, self.advice) = (isProblem, text, advice)
    }
}
#endif
