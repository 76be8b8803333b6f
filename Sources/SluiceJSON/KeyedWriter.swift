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
