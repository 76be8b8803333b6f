#if CommandLineTool
/// The value of a field that can name a queue or be a sort key.
enum JSONScalar: Hashable {
    case text(String)
    case integer(Int64)
    case real(Double)
    /// `true`, `null`, an array or an object.
    case other(String)
    case missing

    /// The type in words.
    var article: String {
        switch self {
        case .text: "text"
        case .integer: "an integer"
        case .real: "a number"
        case .other(let name): name
        case .missing: "missing"
        }
    }
}
#endif
