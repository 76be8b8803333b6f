/// The decoder of one value: one container, or one single value.
struct TapeDecoder: Decoder, SingleValueDecodingContainer {
    let tape: JSONTape
    let index: Int

    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var codingPath: [any CodingKey] { tape.path(to: index) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard tape.tokens[index].kind == .object else { throw tape.refusal() }
        return KeyedDecodingContainer(TapeObject<Key>(tape: tape, object: index))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard tape.tokens[index].kind == .array else { throw tape.refusal() }
        let array = UInt32(truncatingIfNeeded: index)
        return TapeArray(tape: tape, array: array, next: array + 1)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }
    func decodeNil() -> Bool { tape.isNull(index) }

    @inline(__always)
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try tape.value(type, at: index) }

    // The standard library has throwing defaults for these two.
    func decode(_ type: Int128.Type) throws -> Int128 { try tape.value(type, at: index) }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try tape.value(type, at: index) }
}

/// The members of an object.
private struct TapeObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let tape: JSONTape
    let object: Int

    var codingPath: [any CodingKey] { tape.path(to: object) }
    var allKeys: [Key] { tape.keys(of: object).compactMap(Key.init(stringValue:)) }

    func contains(_ key: Key) -> Bool { tape.find(key.stringValue, in: object) != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try tape.isNull(find(key)) }

    @inline(__always)
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try tape.value(type, at: find(key))
    }

    // The standard library has throwing defaults for these two.
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try tape.value(type, at: find(key)) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 {
        try tape.value(type, at: find(key))
    }

    @inline(__always)
    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let index = tape.find(key.stringValue, in: object), !tape.isNull(index) else { return nil }
        return try tape.value(type, at: index)
    }

    @inline(__always)
    private func find(_ key: Key) throws -> Int {
        guard let index = tape.find(key.stringValue, in: object) else { throw tape.refusal() }
        return index
    }

    func nestedContainer<K>(keyedBy type: K.Type, forKey key: Key) throws -> KeyedDecodingContainer<K> {
        try TapeDecoder(tape: tape, index: find(key)).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try TapeDecoder(tape: tape, index: find(key)).unkeyedContainer()
    }

    func superDecoder() -> any Decoder { decoder(of: "super") }
    func superDecoder(forKey key: Key) -> any Decoder { decoder(of: key.stringValue) }

    /// Returns the decoder of a key's value; of null if there is no such key.
    private func decoder(of key: String) -> any Decoder {
        TapeDecoder(tape: tape, index: tape.find(key, in: object) ?? tape.nothing)
    }
}

/// The elements of an array.
private struct TapeArray: UnkeyedDecodingContainer {
    let tape: JSONTape
    // Small, so that it fits into an existential without being allocated.
    let array: UInt32
    var next: UInt32
    var position: UInt32 = 0

    var codingPath: [any CodingKey] { tape.path(to: Int(array)) }
    var count: Int? { Int(tape.tokens[Int(array)].length) }
    var currentIndex: Int { Int(position) }
    var isAtEnd: Bool { position >= tape.tokens[Int(array)].length }

    private func current() throws -> Int {
        if isAtEnd { throw tape.refusal() }
        return Int(next)
    }

    private mutating func advance() {
        next = tape.tokens[Int(next)].next
        position += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard try tape.isNull(current()) else { return false }
        advance()
        return true
    }

    @inline(__always)
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next(type) }

    // The standard library has throwing defaults for these two.
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try next(type) }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try next(type) }

    @inline(__always)
    private mutating func next<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try tape.value(type, at: current())
        advance()
        return value
    }

    mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        if isAtEnd {
            // Foundation increments its index here.
            tape.giveUp()
            return nil
        }
        return try decodeNil() ? nil : try decode(type)
    }

    private mutating func nested<Result>(_ make: (TapeDecoder) throws -> Result) throws -> Result {
        let result = try make(TapeDecoder(tape: tape, index: current()))
        advance()
        return result
    }

    mutating func nestedContainer<K: CodingKey>(keyedBy type: K.Type) throws -> KeyedDecodingContainer<K> {
        try nested { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try nested { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try nested { $0 } }
}
