#if CommandLineTool
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Columns and rows of a screen.
struct ScreenSize: Hashable {
    var columns: Int
    var rows: Int
}
#endif
