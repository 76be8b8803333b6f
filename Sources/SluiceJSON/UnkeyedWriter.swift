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
