/// JSON text while it is written: bytes, and the open arrays and objects.
///
/// Anything unusual clears `isOrdinary`; from then on nothing is written.
struct JSONOutput {
    /// Identifies an array or object; ids are not reused after its end.
    struct FrameID {
        let index: Int32
        let serial: UInt32
        static let none = FrameID(index: -1, serial: 0)
    }

    private struct Frame: BitwiseCopyable {
        let serial: UInt32
        let isObject: Bool
        var count = 0
        /// The position of the newest key in the text.
        var key = 0
        /// The number of key hashes before this object's.
        let hashes: Int
    }

    /// As deep as any JSON that is accepted; Foundation's encoder refuses one level less.
    static let maximumDepth = JSONGrammar.maximumDepth

    private(set) var isOrdinary = true
    private var bytes: GrowingBuffer<UInt8>
    private var frames: GrowingBuffer<Frame>
    /// The hashes of the keys of open objects.
    private var hashes: GrowingBuffer<UInt32>
    private var serial: UInt32 = 0
    /// The encoder that should write a value and has not begun; 0 if there is none.
    private var pending: UInt32 = 0
    /// Frames below it belong to outer values, whose encoding waits.
    private var floor = 0

    // Enough for most values, and small enough for the allocator's fastest path.
    private static let ownBytes = 576
    private static let ownHashes = 24
    private static let ownFrames = 6

    /// Makes an output on the heap, together with its first memory.
    static func make() -> UnsafeMutablePointer<JSONOutput> {
        let frames = MemoryLayout<JSONOutput>.stride
        let hashes = frames + ownFrames * MemoryLayout<Frame>.stride
        let bytes = hashes + ownHashes * MemoryLayout<UInt32>.stride
        let alignment = MemoryLayout<JSONOutput>.alignment
        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes + ownBytes, alignment: alignment)
        let output = memory.bindMemory(to: JSONOutput.self, capacity: 1)
        output.initialize(
            to: JSONOutput(
                bytes: GrowingBuffer(memory + bytes, capacity: ownBytes),
                frames: GrowingBuffer(memory + frames, capacity: ownFrames),
                hashes: GrowingBuffer(memory + hashes, capacity: ownHashes)
            )
        )
        return output
    }

    static func destroy(_ output: UnsafeMutablePointer<JSONOutput>) {
        output.pointee.bytes.deallocate()
        output.pointee.frames.deallocate()
        output.pointee.hashes.deallocate()
        output.deallocate()
    }

    /// The text, when all is written.
    var text: String {
        String(decoding: UnsafeBufferPointer(start: bytes.start, count: bytes.count), as: UTF8.self)
    }

    mutating func giveUp() { isOrdinary = false }

    struct Outer {
        let slot: UInt32
        let floor: Int
    }

    /// Begins a value that an encoder writes; open containers cannot continue before `leave`.
    mutating func enter(_ slot: UInt32?) -> Outer {
        serial &+= 1
        let outer = Outer(slot: slot ?? serial, floor: floor)
        pending = outer.slot
        floor = frames.count
        if serial == .max { giveUp() }
        return outer
    }

    mutating func leave(_ outer: Outer) {
        guard isOrdinary else { return }
        close(downTo: floor)
        floor = outer.floor
        // Nothing was written.
        if pending != 0 { giveUp() }
    }

    /// Returns whether an encoder may write its value now; it may once.
    @inline(__always)
    mutating func take(_ slot: UInt32) -> Bool {
        isOrdinary = isOrdinary && pending == slot
        pending = 0
        return isOrdinary
    }

    mutating func open(isObject: Bool) -> FrameID {
        isOrdinary = isOrdinary && frames.count < Self.maximumDepth
        guard isOrdinary else { return .none }
        serial &+= 1
        bytes.append(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
        frames.append(Frame(serial: serial, isObject: isObject, hashes: hashes.count))
        return FrameID(index: Int32(truncatingIfNeeded: frames.count - 1), serial: serial)
    }

    /// Prepares for the next element of an array.
    mutating func element(of frame: FrameID) -> Bool {
        guard goOn(frame) else { return false }
        separate(Int(frame.index))
        return true
    }

    /// Writes a key and a colon, for a value to follow.
    mutating func member(_ key: String, of frame: FrameID) -> Bool {
        guard goOn(frame) else { return false }
        let index = Int(frame.index)
        separate(index)
        frames.start[index].key = bytes.count + 1
        var key = key
        key.withUTF8 { key in
            guard let start = key.baseAddress, let hash = KeyHash.of(start, count: key.count) else {
                return giveUp()
            }
            hashes.append(hash)
            bytes.reserve(key.count &+ 3)
            bytes.append(JSONBytes.quote)
            bytes.append(start, count: key.count)
            bytes.append(JSONBytes.quote)
            bytes.append(UInt8(ascii: ":"))
        }
        return isOrdinary
    }

    /// Returns how many elements an array has.
    mutating func count(of frame: FrameID) -> Int {
        isOrdinary = isOrdinary && isOpen(frame)
        return isOrdinary ? frames.start[Int(frame.index)].count : 0
    }

    private func isOpen(_ frame: FrameID) -> Bool {
        frame.index >= 0 && frame.index < frames.count
            && frames.start[Int(frame.index)].serial == frame.serial
    }

    /// Returns whether a container may continue; closes containers opened inside it.
    private mutating func goOn(_ frame: FrameID) -> Bool {
        isOrdinary = isOrdinary && pending == 0 && frame.index >= floor && isOpen(frame)
        if isOrdinary { close(downTo: Int(frame.index) + 1) }
        return isOrdinary
    }

    @inline(__always)
    private mutating func separate(_ index: Int) {
        if frames.start[index].count > 0 { bytes.append(UInt8(ascii: ",")) }
        frames.start[index].count += 1
    }

    private mutating func close(downTo count: Int) {
        while frames.count > count {
            frames.count &-= 1
            let frame = frames.start[frames.count]
            bytes.append(frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            let ownCount = hashes.count - frame.hashes
            let keys = UnsafeMutableBufferPointer(start: hashes.start + frame.hashes, count: ownCount)
            if KeyHash.hasDuplicate(keys) { giveUp() }
            hashes.count = frame.hashes
        }
    }

    /// Returns the path of an open container, or of the value that is being encoded, for user code.
    ///
    /// Gives up, since the keys are not of the type that the code knows.
    mutating func path(of container: FrameID? = nil) -> [any CodingKey] {
        giveUp()
        let depth = container.map { Int($0.index) } ?? floor
        return (0..<max(min(depth, frames.count), 0)).map { index in
            let frame = frames.start[index]
            guard frame.isObject else { return PathKey(intValue: max(frame.count - 1, 0)) }
            let start = min(frame.key, bytes.count)
            let key = UnsafeBufferPointer(start: bytes.start + start, count: bytes.count - start)
                .prefix { $0 != JSONBytes.quote }
            return PathKey(stringValue: String(decoding: key, as: UTF8.self))
        }
    }

    // MARK: - Bytes

    mutating func putLiteral(_ text: StaticString) {
        bytes.append(text.utf8Start, count: text.utf8CodeUnitCount)
    }

    mutating func putNumber(_ digits: String) {
        for byte in digits.utf8 { bytes.append(byte) }
    }

    mutating func put(_ value: some BinaryFloatingPoint & CustomStringConvertible) {
        guard value.isFinite else { return giveUp() }
        let digits = value.description
        // Whole numbers in Foundation's format.
        putNumber(digits.hasSuffix(".0") ? String(digits.dropLast(2)) : digits)
    }

    mutating func put(negative: Bool, _ magnitude: UInt64) {
        // A sign and the digits of the largest.
        bytes.reserve(21)
        if negative { bytes.append(UInt8(ascii: "-")) }
        var digits = 1
        var rest = magnitude / 10
        while rest > 0 {
            digits &+= 1
            rest /= 10
        }
        rest = magnitude
        for index in stride(from: bytes.count &+ digits &- 1, through: bytes.count, by: -1) {
            bytes.start[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        bytes.count &+= digits
    }

    mutating func putString(_ string: String) {
        var string = string
        string.withUTF8 { source in
            bytes.reserve(source.count &+ 2)
            bytes.append(JSONBytes.quote)
            var copied = 0
            while let start = source.baseAddress {
                let end = JSONBytes.firstSpecial(in: start, from: copied, to: source.count)
                bytes.append(start + copied, count: end &- copied)
                guard end < source.count else { break }
                putEscape(of: start[end])
                copied = end &+ 1
            }
            bytes.append(JSONBytes.quote)
        }
    }

    private mutating func putEscape(of byte: UInt8) {
        switch byte {
        case JSONBytes.quote: putLiteral("\\\"")
        case JSONBytes.backslash: putLiteral("\\\\")
        case 0x08: putLiteral("\\b")
        case 0x09: putLiteral("\\t")
        case 0x0A: putLiteral("\\n")
        case 0x0C: putLiteral("\\f")
        case 0x0D: putLiteral("\\r")
        default:
            putLiteral(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0x0F
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
