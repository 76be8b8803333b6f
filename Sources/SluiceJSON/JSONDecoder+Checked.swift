#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

extension JSONDecoder {
    /// Decodes a text that may not be JSON, and checks its grammar first.
    ///
    /// Foundation's scanner can read behind the end of a text that has a fault there: 513 opening brackets
    /// and nothing else end the process (swift-foundation of Swift 6.3, found by libFuzzer).
    package func decode<Value: Decodable>(_ type: Value.Type, checking text: String) throws -> Value {
        guard JSONGrammar.accepts(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "it is not JSON"))
        }
        return try decode(type, from: Data(text.utf8))
    }
}
