/// Writes the elements of an array.
struct UnkeyedWriter: UnkeyedEncodingContainer {
    let writer: JSONWriter
    let frame: JSONOutput.FrameID

    var codingPath: [any CodingKey] { writer.output.pointee.path(of: frame) }
    var count: Int { writer.output.pointee.count(of: frame) }

    @inline(__always)
    private func begin() -> Bool { writer.output.pointee.element(of: frame) }

    func encodeNil() { if begin() { writer.writeNil() } }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws { if begin() { try writer.write(value) } }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128) throws { if begin() { try writer.write(value) } }
    func encode(_ value: UInt128) throws { if begin() { try writer.write(value) } }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        writer.object(if: begin())
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { writer.array(if: begin()) }

    func superEncoder() -> any Encoder {
        let index = PathKey(intValue: count)
        return WriterEncoder(writer: writer, slot: 0, pathOfNothing: codingPath + [index])
    }
}
