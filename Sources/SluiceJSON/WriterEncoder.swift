/// The encoder of one value: one container, or one single value.
struct WriterEncoder: Encoder, SingleValueEncodingContainer {
    let writer: JSONWriter
    let slot: UInt32
    /// The path of an encoder whose output is discarded, because the writer has given up.
    var pathOfNothing: [any CodingKey]?

    var userInfo: [CodingUserInfoKey: Any] { [:] }
    var codingPath: [any CodingKey] { pathOfNothing ?? writer.output.pointee.path() }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        writer.object(if: writer.output.pointee.take(slot))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        writer.array(if: writer.output.pointee.take(slot))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
    func encodeNil() { writer.writeNil(slot: slot) }

    @inline(__always)
    func encode<Value: Encodable>(_ value: Value) throws { try writer.write(value, slot: slot) }

    // The standard library has throwing defaults for these two.
    func encode(_ value: Int128) throws { try writer.write(value, slot: slot) }
    func encode(_ value: UInt128) throws { try writer.write(value, slot: slot) }
}
