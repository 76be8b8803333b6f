/// A name in the schema, compared as SQLite compares them: the letters of ASCII in either case, all else byte
/// by byte.
///
/// Swift's own comparison would unite what SQLite keeps apart: other letters in both cases, and composed
/// and decomposed ones.
struct SchemaName: Hashable {
    private let folded: [UInt8]

    init(_ name: String) {
        folded = name.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }
}
