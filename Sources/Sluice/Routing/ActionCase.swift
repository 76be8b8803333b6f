/// A case of an ``ActionUnion``: a type of action, and how a value of the union is made of one.
public struct ActionCase<Union: Sendable>: Sendable {
    let kind: String
    let read: @Sendable (PayloadReader, ClaimedAction) -> Result<Union, Undecodable>

    /// Makes a case for the closure's type of action, as in `ActionCase { .send($0) }`.
    public init<A: Action>(_ embed: @escaping @Sendable (A) -> Union) {
        kind = A.kind
        read = { reader, action in reader.read(A.self, from: action).map(embed) }
    }
}
