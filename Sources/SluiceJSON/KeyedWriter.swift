/// Writes the members of an object.
struct KeyedWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: JSONWriter
    let frame: JSONOutput.FrameID

    var codingPath: [any CodingKey] { writer.output.pointee.path(of: frame) }

    @inline(__always)
    private func begin(_ key: Key) -> Bool { writer.output.pointee.member(key.stringValue, of: frame) }

    func encodeNil(forKey key: Key) { if begin(key) { writer.writeNil() } }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        if begin(key) { try writer.write(value) }
    }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128, forKey key: Key) throws { if begin(key) { try writer.write(value) } }
    func encode(_ value: UInt128, forKey key: Key) throws { if begin(key) { try writer.write(value) } }

    func nestedContainer<K: CodingKey>(keyedBy type: K.Type, forKey key: Key) -> KeyedEncodingContainer<K> {
        writer.object(if: begin(key))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        writer.array(if: begin(key))
    }

    func superEncoder() -> any Encoder { encoder(of: PathKey(stringValue: "super")) }
    func superEncoder(forKey key: Key) -> any Encoder { encoder(of: key) }

    private func encoder(of key: any CodingKey) -> any Encoder {
        WriterEncoder(writer: writer, slot: 0, pathOfNothing: codingPath + [key])
    }
}
