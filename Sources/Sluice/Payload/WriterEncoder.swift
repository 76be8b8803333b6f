/// The encoder of one value: one container, or one single value.
struct WriterEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    let slot: UInt32
    /// The path of an encoder whose output is discarded, because the writer has given up.
    var pathOfNothing: [any CodingKey]?

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// For user code only; the writer gives up, since the keys are not of the type that the code knows.
    var codingPath: [any CodingKey] {
        writer.giveUp()
        return pathOfNothing ?? writer.output.pointee.path
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedWriter<Key>(writer: writer, frame: open(isObject: true)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(writer: writer, frame: open(isObject: false))
    }

    private func open(isObject: Bool) -> JSONOutput.FrameID {
        writer.output.pointee.take(slot) ? writer.output.pointee.open(isObject: isObject) : .none
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    func encodeNil() {
        writer.writeNil(slot: slot)
    }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        try writer.write(value, slot: slot)
    }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128) throws { try writer.write(value, slot: slot) }
    func encode(_ value: UInt128) throws { try writer.write(value, slot: slot) }
}

/// Writes the members of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: JSONWriter
    let frame: JSONOutput.FrameID

    var codingPath: [any CodingKey] {
        writer.giveUp()
        return writer.output.pointee.path(below: Int(frame.index))
    }

    func encodeNil(forKey key: Key) {
        if writer.output.pointee.member(key.stringValue, of: frame) { writer.writeNil() }
    }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        if writer.output.pointee.member(key.stringValue, of: frame) { try writer.write(value) }
    }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128, forKey key: Key) throws {
        if writer.output.pointee.member(key.stringValue, of: frame) { try writer.write(value) }
    }

    func encode(_ value: UInt128, forKey key: Key) throws {
        if writer.output.pointee.member(key.stringValue, of: frame) { try writer.write(value) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedWriter<NestedKey>(writer: writer, frame: open(key, isObject: true)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        UnkeyedWriter(writer: writer, frame: open(key, isObject: false))
    }

    private func open(_ key: Key, isObject: Bool) -> JSONOutput.FrameID {
        let isTurn = writer.output.pointee.member(key.stringValue, of: frame)
        return isTurn ? writer.output.pointee.open(isObject: isObject) : .none
    }

    func superEncoder() -> any Encoder {
        WriterEncoder(writer: writer, slot: 0, pathOfNothing: codingPath + [PathKey(stringValue: "super")])
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        WriterEncoder(writer: writer, slot: 0, pathOfNothing: codingPath + [key])
    }
}

/// Writes the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let writer: JSONWriter
    let frame: JSONOutput.FrameID

    var codingPath: [any CodingKey] {
        writer.giveUp()
        return writer.output.pointee.path(below: Int(frame.index))
    }

    var count: Int { writer.output.pointee.count(of: frame) }

    func encodeNil() {
        if writer.output.pointee.element(of: frame) { writer.writeNil() }
    }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws {
        if writer.output.pointee.element(of: frame) { try writer.write(value) }
    }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128) throws {
        if writer.output.pointee.element(of: frame) { try writer.write(value) }
    }

    func encode(_ value: UInt128) throws {
        if writer.output.pointee.element(of: frame) { try writer.write(value) }
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        KeyedEncodingContainer(KeyedWriter<NestedKey>(writer: writer, frame: open(isObject: true)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedWriter(writer: writer, frame: open(isObject: false))
    }

    private func open(isObject: Bool) -> JSONOutput.FrameID {
        let isTurn = writer.output.pointee.element(of: frame)
        return isTurn ? writer.output.pointee.open(isObject: isObject) : .none
    }

    func superEncoder() -> any Encoder {
        let index = PathKey(intValue: count)
        return WriterEncoder(writer: writer, slot: 0, pathOfNothing: codingPath + [index])
    }
}
