/// The place of an action in the order of its queue: by sort key, then by sequence.
struct Place: Sendable, Equatable {
    let key: PlaceKey
    let action: ActionID
}

extension Place: Comparable {
    static func < (left: Place, right: Place) -> Bool {
        switch PlaceKey.compare(left.key, right.key) {
        case .less: true
        case .greater: false
        case .equal: left.action.rawValue < right.action.rawValue
        }
    }
}
