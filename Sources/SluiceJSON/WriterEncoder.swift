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
