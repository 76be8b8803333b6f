/// Feeds one of the targets with inputs of libFuzzer's: `Fuzz TARGET [its own arguments]`; see `.ci/fuzz`.
///
/// libFuzzer makes inputs that reach code which no input has reached before
/// (<https://llvm.org/docs/LibFuzzer.html>). A crash is a finding, and so is a broken promise: `expect`.
import Foundation

/// libFuzzer's own loop, from the library without a main function that comes with the toolchain.
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

guard CommandLine.arguments.count > 1, let target = FuzzTarget(rawValue: CommandLine.arguments[1]) else {
    FileHandle.standardError.write(Data("Fuzz: name one of \(FuzzTarget.allCases.map(\.rawValue))\n".utf8))
    exit(64)
}

/// Set before the loop begins, and never again.
private nonisolated(unsafe) var chosen = target

// Its first argument is the program's name, and the target's is not its business.
var count = CInt(CommandLine.argc - 1)
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
arguments?[0] = CommandLine.unsafeArgv[0]
let status = withUnsafeMutablePointer(to: &arguments) { arguments in
    runFuzzer(&count, arguments) { start, count in
        chosen.take(Array(UnsafeBufferPointer(start: start, count: count)))
        return 0
    }
}
exit(status)
