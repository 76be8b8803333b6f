#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension JSONDecoder {
    /// Decodes a text that may not be JSON; one that may be nested too deeply must be.
    ///
    /// Foundation's scanner can read behind the end of a text that is nested too deeply there: 513 opening
    /// brackets and nothing else end the process (swift-foundation of Swift 6.3, found by libFuzzer).
    package func decode<Value: Decodable>(_ type: Value.Type, checking text: String) throws -> Value {
        let opening = text.utf8.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "{") }
        guard opening <= JSONGrammar.maximumDepth || JSONGrammar.accepts(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "it is not JSON"))
        }
        return try decode(type, from: Data(text.utf8))
    }
}
