import TestSupport

@testable import Sluice

/// One thing that happens to the bytes of a file.
enum Damage: Sendable, CustomStringConvertible {
    /// What a disk gives back that has lost a page.
    case zeroed(page: Int)
    case random(page: Int, seed: UInt64)
    /// One byte of the page's header, which says what it holds and where.
    case header(page: Int, offset: Int, with: UInt8)
    /// As by a write that stopped half way, or went to the wrong place.
    case half(page: Int, of: Int)
    case cut(to: Int)

    static let pageSize = FullFile.pageSize

    func apply(to bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        func range(_ page: Int, _ count: Int = Self.pageSize) -> Range<Int> {
            (page - 1) * Self.pageSize..<(page - 1) * Self.pageSize + count
        }
        switch self {
        case .zeroed(let page):
            bytes.replaceSubrange(range(page), with: repeatElement(0, count: Self.pageSize))
        case .random(let page, let seed):
            var random = SplitMix(seed: seed)
            bytes.replaceSubrange(
                range(page),
                with: range(page).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            )
        case .header(let page, let offset, let mask):
            // The first page begins with the header of the file.
            bytes[range(page).lowerBound + (page == 1 ? 100 : 0) + offset] ^= mask
        case .half(let page, let other):
            bytes.replaceSubrange(
                range(page, Self.pageSize / 2),
                with: Array(bytes[range(other, Self.pageSize / 2)])
            )
        case .cut(let count):
            bytes.removeSubrange(count...)
        }
        return bytes
    }

    var description: String {
        switch self {
        case .zeroed(let page): "page \(page) zeroed"
        case .random(let page, let seed): "page \(page) random from \(seed)"
        case .header(let page, let offset, let mask):
            "byte \(offset) of the header of page \(page) by \(mask)"
        case .half(let page, let other): "the first half of page \(other) in page \(page)"
        case .cut(let count): "cut to \(count) bytes"
        }
    }

    /// Every kind for every page.
    static func all(pages: Int, using random: inout some RandomNumberGenerator) -> [Damage] {
        var all: [Damage] = [.cut(to: 0), .cut(to: 100)]
        for page in 1...pages {
            all.append(.zeroed(page: page))
            all.append(.random(page: page, seed: random.next()))
            let (offset, mask) = (
                Int.random(in: 0..<12, using: &random), UInt8.random(in: 1...255, using: &random)
            )
            all.append(.header(page: page, offset: offset, with: mask))
            let other = Int.random(in: 1..<pages, using: &random)
            all.append(.half(page: page, of: other < page ? other : other + 1))
            if page > 1 { all.append(.cut(to: (page - 1) * pageSize)) }
            all.append(.cut(to: page * pageSize - pageSize / 2))
        }
        return all
    }
}

/// What the tests of bad input do of all that they could.
enum BadInput {
    /// Returns how many are tried; 0 is all.
    static func number(usually count: Int) -> Int {
        Reliability.number("SLUICE_BAD_INPUT", usually: count, short: count / 4)
    }

    static func sample<Case>(
        _ cases: [Case],
        _ count: Int,
        using random: inout some RandomNumberGenerator
    ) -> [Case] {
        let count = number(usually: count)
        return count == 0 ? cases : Array(cases.shuffled(using: &random).prefix(count))
    }
}
