#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Writes an ordinary `Codable` value as JSON straight into bytes.
///
/// It never throws an error of its own: user code could swallow it or trap on it. Anything unusual is noted,
/// the rest of the value is not written, and Foundation's encoder starts over.
package final class JSONWriter {
    // On the heap by itself, so that the compiler needs no checks of exclusive access at each byte.
    let output = JSONOutput.make()
    /// Whether dates are written as text in ISO 8601; else as Foundation writes them.
    private let writesDatesAsText: Bool

    private init(writesDatesAsText: Bool) { self.writesDatesAsText = writesDatesAsText }
    deinit { JSONOutput.destroy(output) }

    /// Returns the value as JSON text, or nil if Foundation has to encode it.
    package static func text<Value: Encodable>(of value: Value, datesAsText: Bool = true) -> String? {
        var writer = JSONWriter(writesDatesAsText: datesAsText)
        do { try writer.write(value) } catch { return nil }
        guard writer.output.pointee.isOrdinary else { return nil }
        // A container that has outlived the value may write when it ends.
        guard isKnownUniquelyReferenced(&writer) else {
            writer.output.pointee.giveUp()
            return nil
        }
        return writer.output.pointee.text
    }

    /// Writes a value where one is expected; `slot` is its encoder, unless that is new.
    @inline(__always)
    func write<Value: Encodable>(_ value: Value, slot: UInt32? = nil) throws {
        if Value.self == String.self {
            if begin(slot) { output.pointee.putString(unsafeBitCast(value, to: String.self)) }
        } else if Value.self == Int.self {
            put(unsafeBitCast(value, to: Int.self), slot)
        } else if Value.self == Bool.self {
            let isTrue = unsafeBitCast(value, to: Bool.self)
            if begin(slot) { output.pointee.putLiteral(isTrue ? "true" : "false") }
        } else if Value.self == Double.self {
            if begin(slot) { output.pointee.put(unsafeBitCast(value, to: Double.self)) }
        } else {
            try writeOther(value, slot)
        }
    }

    func writeNil(slot: UInt32? = nil) { if begin(slot) { output.pointee.putLiteral("null") } }

    @inline(__always)
    private func begin(_ slot: UInt32?) -> Bool {
        guard let slot else { return output.pointee.isOrdinary }
        return output.pointee.take(slot)
    }

    @inline(__always)
    private func put(_ value: some FixedWidthInteger, _ slot: UInt32?) {
        guard begin(slot) else { return }
        output.pointee.put(negative: value < 0, UInt64(truncatingIfNeeded: value.magnitude))
    }

    private func writeOther<Value: Encodable>(_ value: Value, _ slot: UInt32?) throws {
        switch value {
        case _ where Value.self == Data.self || Value.self == URL.self || Value.self == Decimal.self:
            // Foundation writes them in its own way, not by their own code.
            output.pointee.giveUp()
        case _ where Value.self == Date.self && writesDatesAsText:
            guard let text = unsafeBitCast(value, to: Date.self).iso8601 else { return try nest(value, slot) }
            if begin(slot) { output.pointee.putString(text) }
        case _ where Value.self == Float.self:
            if begin(slot) { output.pointee.put(unsafeBitCast(value, to: Float.self)) }
        case _ where Value.self == Int64.self: put(unsafeBitCast(value, to: Int64.self), slot)
        case _ where Value.self == Int32.self: put(unsafeBitCast(value, to: Int32.self), slot)
        case _ where Value.self == Int16.self: put(unsafeBitCast(value, to: Int16.self), slot)
        case _ where Value.self == Int8.self: put(unsafeBitCast(value, to: Int8.self), slot)
        case _ where Value.self == UInt.self: put(unsafeBitCast(value, to: UInt.self), slot)
        case _ where Value.self == UInt64.self: put(unsafeBitCast(value, to: UInt64.self), slot)
        case _ where Value.self == UInt32.self: put(unsafeBitCast(value, to: UInt32.self), slot)
        case _ where Value.self == UInt16.self: put(unsafeBitCast(value, to: UInt16.self), slot)
        case _ where Value.self == UInt8.self: put(unsafeBitCast(value, to: UInt8.self), slot)
        case _ where Value.self == Int128.self:
            if begin(slot) { output.pointee.putNumber(unsafeBitCast(value, to: Int128.self).description) }
        case _ where Value.self == UInt128.self:
            if begin(slot) { output.pointee.putNumber(unsafeBitCast(value, to: UInt128.self).description) }
        default: try nest(value, slot)
        }
    }

    /// Lets a value encode itself.
    private func nest<Value: Encodable>(_ value: Value, _ slot: UInt32?) throws {
        guard begin(slot) else { return }
        let outer = output.pointee.enter(slot)
        do { try value.encode(to: WriterEncoder(writer: self, slot: outer.slot)) } catch {
            output.pointee.giveUp()
            throw error
        }
        output.pointee.leave(outer)
    }

    // MARK: - Containers

    /// Begins an object if its turn has come; else everything written to it is discarded.
    @inline(__always)
    func object<Key: CodingKey>(if isTurn: Bool) -> KeyedEncodingContainer<Key> {
        let frame: JSONOutput.FrameID = isTurn ? output.pointee.open(isObject: true) : .none
        return KeyedEncodingContainer(KeyedWriter<Key>(writer: self, frame: frame))
    }

    @inline(__always)
    func array(if isTurn: Bool) -> any UnkeyedEncodingContainer {
        UnkeyedWriter(writer: self, frame: isTurn ? output.pointee.open(isObject: false) : .none)
    }
}
