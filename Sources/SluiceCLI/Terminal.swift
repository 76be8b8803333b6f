#if CommandLineTool
internal import Synchronization
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

    /// Whether somebody looks at standard output.
    static var hasScreen: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether standard input is a keyboard.
    static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes a line of the answer to standard output.
    ///
    /// Whoever calls it has made visible what comes from the file.
    static func answer(_ line: String) {
        write(line + "\n", to: .standardOutput)
    }

    /// Writes lines of the answer to standard output.
    static func answer(_ lines: [String]) {
        if !lines.isEmpty { write(lines.joined(separator: "\n") + "\n", to: .standardOutput) }
    }

    /// Writes lines to standard output that must not be lost: a full disk is an error.
    static func deliver(_ lines: [String]) throws(Failure) {
        do {
            _ = try FileDescriptor.standardOutput.writeAll(lines.flatMap { $0.utf8 + [0x0A] })
        } catch {
            throw Failure(.inputOutput, "standard output cannot be written: \(error)")
        }
    }

    /// Writes a remark to standard error, on one line; what a terminal would obey is escaped.
    static func remark(_ message: String) {
        write("sluice: \(Visible.text(message))\n", to: .standardError)
    }

    /// Writes what the parser of the arguments has to say, which has lines of its own.
    static func remark(lines message: String) {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        write(
            "sluice: \(lines.map { Visible.text(String($0)) }.joined(separator: "\n"))\n",
            to: .standardError
        )
    }

    /// Writes text to standard error as it is.
    static func show(_ text: String) {
        write(text, to: .standardError)
    }

    /// Writes text to standard output as it is.
    static func draw(_ text: String) {
        write(text, to: .standardOutput)
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
    /// A reader that has gone is no error of ours. That an answer was lost otherwise is said at the end, as
    /// what the verb was to do is done all the same; nobody can be told that a remark was lost.
    private static func write(_ bytes: [UInt8], to descriptor: FileDescriptor) {
        do {
            _ = try descriptor.writeAll(bytes)
        } catch {
            guard descriptor == .standardOutput, (error as? Errno) != .brokenPipe else { return }
            loss.withLock { $0 = $0 ?? "\(error)" }
        }
    }

    /// Why an answer was lost first.
    private static let loss = Mutex<String?>(nil)

    /// Fails if an answer was lost.
    ///
    /// - Parameter status: What that means for the verb.
    static func finish(_ status: ExitStatus) throws(Failure) {
        guard let error = loss.withLock({ $0 }) else { return }
        throw Failure(
            status,
            status == .unreported
                ? "what was asked for is done, but standard output cannot be written: \(error)"
                : "standard output cannot be written: \(error)"
        )
    }
}
#endif
