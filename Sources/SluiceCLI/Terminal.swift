internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Standard output and standard error, in whole lines.
enum Terminal {
    /// Whether somebody looks at standard error.
    static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard input is a keyboard.
    static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes a line of the answer to standard output.
    static func answer(_ line: String) {
        write(line + "\n", to: .standardOutput)
    }

    /// Writes a remark to standard error.
    static func remark(_ message: String) {
        write("sluice: \(message)\n", to: .standardError)
    }

    /// Writes text to standard error as it is.
    static func show(_ text: String) {
        write(text, to: .standardError)
    }

    /// Writes a line of bytes to standard output.
    static func pass(_ line: some Sequence<UInt8>) {
        write(Array(line) + [UInt8(ascii: "\n")], to: .standardOutput)
    }

    private static func write(_ text: String, to descriptor: FileDescriptor) {
        write(Array(text.utf8), to: descriptor)
    }

    /// Writes a line in one call, so that those of several tasks do not mix.
    ///
    /// A reader that has gone is no error of ours.
    private static func write(_ bytes: [UInt8], to descriptor: FileDescriptor) {
        _ = try? descriptor.writeAll(bytes)
    }
}
