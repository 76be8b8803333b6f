internal import SluiceSQLite

extension Columns {
    mutating func time() -> Timestamp { Timestamp(microseconds: int64()) }
    mutating func optionalTime() -> Timestamp? { optionalInt64().map(Timestamp.init(microseconds:)) }
    mutating func gate() -> GateName? { optionalText().map { GateName($0) } }
    mutating func sortKind() -> SortKey.Kind {
        // The tables' CHECK admits no other type.
        SortKey.Kind(rawValue: text()) ?? .arrival
    }
}
