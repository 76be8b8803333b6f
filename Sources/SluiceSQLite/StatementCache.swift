/// The prepared statements of a connection, by the address of their text.
///
/// A literal has one address, so texts are not compared. Each action looks up some ten statements, and a
/// dictionary would hash the address with a random key each time.
final class StatementCache {
    private typealias Slot = (address: UnsafePointer<UInt8>, statement: Statement)?

    /// At least half of the slots are empty, and there is a power of two of them.
    private var slots: UnsafeMutableBufferPointer<Slot>
    private var count = 0

    init() {
        slots = .allocate(capacity: 64)
        slots.initialize(repeating: nil)
    }

    deinit {
        slots.deinitialize()
        slots.deallocate()
    }

    var all: [Statement] { slots.compactMap { $0?.statement } }

    subscript(address: UnsafePointer<UInt8>) -> Statement? { slots[index(of: address)]?.statement }

    func add(_ statement: Statement, at address: UnsafePointer<UInt8>) {
        if count * 2 >= slots.count { grow() }
        slots[index(of: address)] = (address, statement)
        count += 1
    }

    func removeAll() {
        slots.update(repeating: nil)
        count = 0
    }

    /// The slot of an address, or the empty one that it would get.
    private func index(of address: UnsafePointer<UInt8>) -> Int {
        // Literals are close to each other, and some start at even addresses alone.
        let mixed = UInt(bitPattern: address) &* 0x9E37_79B9_7F4A_7C15
        var index = Int(mixed >> 32) & (slots.count - 1)
        while let slot = slots[index], slot.address != address { index = (index + 1) & (slots.count - 1) }
        return index
    }

    private func grow() {
        let old = slots
        slots = .allocate(capacity: old.count * 2)
        slots.initialize(repeating: nil)
        for case let slot? in old { slots[index(of: slot.address)] = slot }
        old.deinitialize()
        old.deallocate()
    }
}
