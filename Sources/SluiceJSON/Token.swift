/// A value in a JSON text, or a key.
struct Token: BitwiseCopyable {
    /// Integers have neither a fraction nor an exponent; other numbers do.
    enum Kind: UInt8 {
        case null, isTrue, isFalse, integer, number, string, escapedString, key, array, object
    }

    let kind: Kind
    /// Where its text starts, after a string's quote; of an object, the key found last, 0 before the first.
    var start: UInt32
    /// The length of its text; of arrays and objects, the number of elements or members.
    var length: UInt32
    /// The index after the last token inside; of keys, their hash.
    var next: UInt32
}
