#if CommandLineTool && GRDB
/// What went wrong, in a sentence: for the user, and as the last error of an action.
struct Failure: Error, CustomStringConvertible {
    let description: String
}
#endif
