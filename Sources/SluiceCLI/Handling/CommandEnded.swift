#if CommandLineTool
internal import CSluiceCommands
internal import Sluice
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A command ended with a status without a meaning of its own.
struct CommandEnded: Error, CustomStringConvertible {
    let end: CommandEnd

    var description: String {
        switch end {
        case .exited(let code): "the command ended with status \(code)"
        case .signaled(let signal): "signal \(signal) ended the command"
        }
    }
}
#endif
