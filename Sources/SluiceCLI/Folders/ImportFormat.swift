#if CommandLineTool
internal import ArgumentParser

/// The format of an import.
enum ImportFormat: String, ExpressibleByArgument, CaseIterable {
    /// Detected from the path.
    case auto
    case lines
    case customerIO = "customer-io"
    case cute
}
#endif
