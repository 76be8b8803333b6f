/// A value of one of SQLite's five storage classes.
///
/// Source: <https://www.sqlite.org/datatype3.html>
package enum Value: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])
}
