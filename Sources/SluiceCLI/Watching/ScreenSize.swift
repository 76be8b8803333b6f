#if CommandLineTool
/// Columns and rows of a screen.
struct ScreenSize: Hashable {
    var columns: Int
    var rows: Int
}
#endif
