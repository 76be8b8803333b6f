#if Crypto
import Crypto
import Foundation
import Sluice
import SluiceCrypto
import TestSupport
import Testing

@Suite("Keys", .watched) struct KeyRingTests {
    private let context = SealingContext(kind: "note", version: 1)
    private let payload = Data(#"{"text":"CANARY"}"#.utf8)

    @Test("What was sealed opens with its key, and twice the same payload is sealed to different bytes")
    func roundTrip() throws {
        let ring = try KeyRing(sealingWith: "a", SymmetricKey(size: .bits256))
        let sealed = try (0..<100).map { _ in try ring.seal(payload, as: context) }
        for one in sealed {
            #expect(one.key == "a")
            #expect(try ring.open(one, as: context) == payload)
            #expect(one.bytes.range(of: Data("CANARY".utf8)) == nil)
        }
        #expect(Set(sealed.map(\.bytes)).count == 100)
    }

    @Test("A payload of any length is sealed, an empty one too", arguments: [0, 1, 15, 16, 17, 64, 100_000])
    func lengths(_ count: Int) throws {
        let ring = try KeyRing(sealingWith: "a", SymmetricKey(size: .bits256))
        let payload = Data(repeating: 0x20, count: count)
        #expect(try ring.open(ring.seal(payload, as: context), as: context) == payload)
    }

    @Test("It opens in no other context, with no other key of the name, and with no byte changed or missing")
    func authentic() throws {
        let ring = try KeyRing(sealingWith: "a", SymmetricKey(size: .bits256))
        let sealed = try ring.seal(payload, as: context)
        for other in [
            SealingContext(kind: "note", version: 2), SealingContext(kind: "notes", version: 1),
            SealingContext(kind: "1\nnote", version: 1), SealingContext(kind: "", version: 1),
        ] {
            #expect(throws: SealingFailure.notAuthentic) { try ring.open(sealed, as: other) }
        }
        let stranger = try KeyRing(sealingWith: "a", SymmetricKey(size: .bits256))
        #expect(throws: SealingFailure.notAuthentic) { try stranger.open(sealed, as: context) }
        for index in sealed.bytes.indices {
            var bytes = sealed.bytes
            bytes[index] ^= 0x10
            let changed = SealedPayload(key: "a", bytes: bytes)
            #expect(throws: SealingFailure.notAuthentic) { try ring.open(changed, as: context) }
            let cut = SealedPayload(key: "a", bytes: sealed.bytes.prefix(index))
            #expect(throws: SealingFailure.notAuthentic) { try ring.open(cut, as: context) }
        }
    }

    @Test("The newest key seals, and the old ones open what they have sealed until they are removed")
    func rotation() throws {
        let ring = try KeyRing(sealingWith: "2026-11", SymmetricKey(size: .bits256))
        let old = try ring.seal(payload, as: context)
        try ring.seal(with: "2026-12", SymmetricKey(size: .bits256))
        #expect(ring.newest == "2026-12")
        let new = try ring.seal(payload, as: context)
        #expect(new.key == "2026-12")
        #expect(try ring.open(old, as: context) == payload)
        #expect(try ring.open(new, as: context) == payload)
        #expect(!ring.remove("2026-12"))
        #expect(ring.remove("2026-11"))
        #expect(!ring.remove("2026-11"))
        #expect(throws: SealingFailure.missingKey) { try ring.open(old, as: context) }
        #expect(try ring.open(new, as: context) == payload)
    }

    @Test("A key that was not added is looked up, and what the look-up throws is passed on")
    func lookUp() throws {
        struct Locked: Error {}
        let old = SymmetricKey(size: .bits256)
        let sealed = try KeyRing(sealingWith: "old", old).seal(payload, as: context)
        let other = try KeyRing(sealingWith: "other", old).seal(payload, as: context)
        let ring = try KeyRing(sealingWith: "new", SymmetricKey(size: .bits256)) { name in
            guard name == "old" else { throw Locked() }
            return old
        }
        #expect(try ring.open(sealed, as: context) == payload)
        #expect(throws: Locked.self) { try ring.open(other, as: context) }
    }

    @Test("A key of another size, and a name that is none, are refused")
    func refusals() throws {
        let key = SymmetricKey(size: .bits256)
        let ring = try KeyRing(sealingWith: "a", key)
        for name in ["", "a b", "a\"", "é", "a\u{0}", String(repeating: "a", count: 256)] {
            let error = #expect(throws: SluiceError.self) { try ring.seal(with: name, key) }
            #expect(error?.code == .invalidOptions)
        }
        for size in [SymmetricKeySize.bits128, .bits192, SymmetricKeySize(bitCount: 512)] {
            let error = #expect(throws: SluiceError.self) { try ring.add("b", SymmetricKey(size: size)) }
            #expect(error?.code == .invalidOptions)
            #expect(error?.message.contains("\(size.bitCount) bits; give one of 256") == true)
        }
        #expect(ring.newest == "a")
    }
}
#endif
