/// Values by queue pattern: an exact name is found before any prefix, a longer prefix before a shorter one.
struct PatternTable<Value: Sendable>: Sendable {
    private var exact: [QueueName: Value] = [:]
    /// The longest first; there are few, so each look-up tries them in turn.
    private var prefixes: [(bytes: [UInt8], value: Value)] = []

    /// Returns the values of the patterns that match a name, the most specific first.
    func matches(_ name: QueueName) -> [Value] {
        var values: [Value] = []
        _ = firstMatch(of: name) { value -> Never? in
            values.append(value)
            return nil
        }
        return values
    }

    /// Returns what is found first in the values of the patterns that match a name, the most specific first.
    func firstMatch<Found>(of name: QueueName, _ find: (Value) -> Found?) -> Found? {
        if !exact.isEmpty, let value = exact[name], let found = find(value) { return found }
        for (bytes, value) in prefixes where bytes.isEmpty || name.rawValue.utf8.starts(with: bytes) {
            if let found = find(value) { return found }
        }
        return nil
    }

    subscript(form: QueuePattern.Form) -> Value? {
        get {
            switch form {
            case .exact(let name): exact[name]
            case .prefix(let bytes): prefixes.first { $0.bytes == bytes }?.value
            }
        }
        set {
            switch form {
            case .exact(let name): exact[name] = newValue
            case .prefix(let bytes):
                prefixes.removeAll { $0.bytes == bytes }
                guard let newValue else { return }
                let index =
                    mutant("longest prefix")
                    ? prefixes.endIndex
                    : prefixes.firstIndex { $0.bytes.count < bytes.count } ?? prefixes.endIndex
                prefixes.insert((bytes, newValue), at: index)
            }
        }
    }
}
