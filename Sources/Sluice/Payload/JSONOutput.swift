/// JSON text in the making: bytes, and the arrays and objects that are still open.
///
/// Whatever is out of the ordinary clears `isOrdinary`; from then on nothing is written.
struct JSONOutput {
    /// Names an array or object; one that has been closed is never named again.
    struct FrameID {
        let index: Int32
        let serial: UInt32

        static let none = FrameID(index: -1, serial: 0)
    }

    private struct Frame {
        let serial: UInt32
        let isObject: Bool
        var count = 0
        /// Where the newest key stands in the text.
        var key = 0
        /// How many numbers of keys stand before this object's.
        let hashes: Int
    }

    /// More than user types nest; what nests deeper is Foundation's to judge.
    static let maximumDepth = 128

    private(set) var isOrdinary = true
    private(set) var count = 0
    private var bytes: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var frames: [Frame] = []
    /// Of the keys of open objects.
    private var hashes: [UInt32] = []
    private var serial: UInt32 = 0
    /// The encoder that has been told to write a value and has not begun; 0 if there is none.
    private var pending: UInt32 = 0
    /// Frames below it belong to values whose encoding is being waited for.
    private var floor = 0

    init(capacity: Int) {
        self.capacity = capacity
        bytes = .allocate(capacity: capacity)
        frames.reserveCapacity(4)
        hashes.reserveCapacity(16)
    }

    func deallocate() {
        bytes.deallocate()
    }

    /// The text, once.
    var text: String {
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    mutating func giveUp() {
        isOrdinary = false
    }
}

// MARK: - Values inside each other

extension JSONOutput {
    struct Outer {
        let slot: UInt32
        let floor: Int
    }

    /// Makes room for a value that an encoder writes; what is open cannot go on before `leave`.
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
        // Nothing at all was written.
        if pending != 0 { giveUp() }
    }

    /// Whether an encoder may write its value now; it may once.
    @inline(__always)
    mutating func take(_ slot: UInt32) -> Bool {
        guard isOrdinary, pending == slot else {
            giveUp()
            return false
        }
        pending = 0
        return true
    }

    mutating func open(isObject: Bool) -> FrameID {
        guard isOrdinary, frames.count < Self.maximumDepth else {
            giveUp()
            return .none
        }
        serial &+= 1
        put(isObject ? UInt8(ascii: "{") : UInt8(ascii: "["))
        frames.append(Frame(serial: serial, isObject: isObject, hashes: hashes.count))
        return FrameID(index: Int32(truncatingIfNeeded: frames.count - 1), serial: serial)
    }

    /// Prepares for the next element of an array.
    mutating func element(of frame: FrameID) -> Bool {
        guard goOn(frame) else { return false }
        separate(Int(frame.index))
        return true
    }

    /// Prepares for the value of a key.
    mutating func member(_ key: String, of frame: FrameID) -> Bool {
        guard goOn(frame) else { return false }
        let index = Int(frame.index)
        separate(index)
        frames[index].key = count + 1
        var key = key
        key.withUTF8 { putKey($0) }
        return isOrdinary
    }

    /// How many elements an array has.
    mutating func count(of frame: FrameID) -> Int {
        guard isOrdinary, isOpen(frame) else {
            giveUp()
            return 0
        }
        return frames[Int(frame.index)].count
    }

    private func isOpen(_ frame: FrameID) -> Bool {
        frame.index >= 0 && frame.index < frames.count && frames[Int(frame.index)].serial == frame.serial
    }

    /// Whether it is a container's turn; what was opened inside it is closed then.
    private mutating func goOn(_ frame: FrameID) -> Bool {
        guard isOrdinary, pending == 0, frame.index >= floor, isOpen(frame) else {
            giveUp()
            return false
        }
        close(downTo: Int(frame.index) + 1)
        return isOrdinary
    }

    @inline(__always)
    private mutating func separate(_ index: Int) {
        if frames[index].count > 0 { put(UInt8(ascii: ",")) }
        frames[index].count += 1
    }

    private mutating func close(downTo count: Int) {
        while frames.count > count, let frame = frames.popLast() {
            put(frame.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
            guard frame.isObject else { continue }
            let first = frame.hashes
            let isAmbiguous = hashes.withUnsafeMutableBufferPointer {
                KeyHash.hasDuplicate(UnsafeMutableBufferPointer(rebasing: $0[first...]))
            }
            if isAmbiguous { giveUp() }
            hashes.removeLast(hashes.count - first)
        }
    }

    /// The keys under which the frames stand that are open below an index.
    func path(below index: Int) -> [PathKey] {
        frames.prefix(max(index, 0)).map { frame in
            guard frame.isObject else { return PathKey(intValue: max(frame.count - 1, 0)) }
            let start = min(frame.key, count)
            let key = UnsafeBufferPointer(start: bytes + start, count: count - start)
                .prefix { $0 != JSONBytes.quote }
            return PathKey(stringValue: String(decoding: key, as: UTF8.self))
        }
    }

    /// Of the value that is being encoded.
    var path: [PathKey] { path(below: floor) }
}

// MARK: - Bytes

extension JSONOutput {
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: bytes, count: count)
        bytes.deallocate()
        bytes = larger
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        reserve(1)
        bytes[count] = byte
        count &+= 1
    }

    /// Writes a key and a colon, if the key is ASCII that needs no escapes.
    ///
    /// Others are rare, and Swift takes two of them for the same that are written differently.
    private mutating func putKey(_ key: UnsafeBufferPointer<UInt8>) {
        reserve(key.count + 3)
        var hash = KeyHash()
        bytes[count] = JSONBytes.quote
        count &+= 1
        for byte in key {
            guard byte < 0x80, !JSONBytes.isSpecial(byte) else { return giveUp() }
            hash.add(byte)
            bytes[count] = byte
            count &+= 1
        }
        bytes[count] = JSONBytes.quote
        bytes[count &+ 1] = UInt8(ascii: ":")
        count &+= 2
        hashes.append(hash.value)
    }

    /// Writes text that stands as it is, such as a number.
    mutating func put(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        (bytes + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        count += text.utf8CodeUnitCount
    }

    mutating func putNumber(_ digits: String) {
        var digits = digits
        digits.withUTF8 { source in
            reserve(source.count)
            for byte in source {
                bytes[count] = byte
                count &+= 1
            }
        }
    }

    mutating func put(_ value: Double) {
        guard value.isFinite else { return giveUp() }
        putNumber(Self.shortened(value.description))
    }

    mutating func put(_ value: Float) {
        guard value.isFinite else { return giveUp() }
        putNumber(Self.shortened(value.description))
    }

    /// As Foundation writes whole numbers.
    private static func shortened(_ number: String) -> String {
        number.hasSuffix(".0") ? String(number.dropLast(2)) : number
    }

    mutating func put(negative: Bool, _ magnitude: UInt64) {
        reserve(21)
        if negative { put(UInt8(ascii: "-")) }
        var digits = 1
        var rest = magnitude / 10
        while rest > 0 {
            digits &+= 1
            rest /= 10
        }
        rest = magnitude
        for index in stride(from: count &+ digits &- 1, through: count, by: -1) {
            bytes[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        count &+= digits
    }

    mutating func put(_ string: String) {
        var string = string
        string.withUTF8 { putString($0) }
    }

    private mutating func putString(_ source: UnsafeBufferPointer<UInt8>) {
        reserve(source.count + 2)
        put(JSONBytes.quote)
        if let start = source.baseAddress {
            var copied = 0
            while true {
                let end = JSONBytes.firstSpecial(in: start, from: copied, to: source.count)
                (bytes + count).update(from: start + copied, count: end &- copied)
                count &+= end &- copied
                guard end < source.count else { break }
                putEscape(of: start[end])
                copied = end &+ 1
                reserve(source.count &- copied &+ 1)
            }
        }
        put(JSONBytes.quote)
    }

    private mutating func putEscape(of byte: UInt8) {
        switch byte {
        case JSONBytes.quote: put("\\\"")
        case JSONBytes.backslash: put("\\\\")
        case 0x08: put("\\b")
        case 0x09: put("\\t")
        case 0x0A: put("\\n")
        case 0x0C: put("\\f")
        case 0x0D: put("\\r")
        default:
            put(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 0x0F
            put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
