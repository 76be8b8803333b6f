internal import SluiceSQLite

/// The place of an action in the order of its queue: by sort key, then by sequence.
struct Place: Sendable, Comparable {
    let key: PlaceKey
    let action: ActionID

    static func < (left: Place, right: Place) -> Bool {
        switch PlaceKey.compare(left.key, right.key) {
        case .less: true
        case .greater: false
        case .equal: left.action.rawValue < right.action.rawValue
        }
    }
}

extension Place {
    init(_ row: Row, key: Int32, action: Int32) {
        self.init(key: PlaceKey(row, key), action: ActionID(rawValue: row.int64(action)))
    }
}
