#if CommandLineTool
internal import ArgumentParser
internal import Sluice

/// When the tool uses colours.
enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto
    case always
    case never
}
#endif
