internal import SluiceSQLite

/// The place of an action in the order of its queue: by sort key, then by sequence.
struct Place: Sendable, Equatable {
    let key: PlaceKey
    let action: ActionID
}

extension Place: Comparable {
    init(_ row: Row, key: Int32, action: Int32) {
        self.init(key: PlaceKey(row, key), action: ActionID(rawValue: row.int64(action)))
    }

    static func < (left: Place, right: Place) -> Bool {
        switch PlaceKey.compare(left.key, right.key) {
        case .less: true
        case .greater: false
        case .equal: left.action.rawValue < right.action.rawValue
        }
    }
}
