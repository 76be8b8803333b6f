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
    /// Whether standard error is a terminal.
    static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 }

    /// Whether standard output is a terminal.
    static var hasScreen: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The columns of the terminal that standard output is; `nil` if it is none.
    static var columns: Int? {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
        return Int(size.ws_col)
    }

    /// Whether standard input is a terminal.
    static var hasKeyboard: Bool { isatty(STDIN_FILENO) == 1 }

    /// Writes a line of the answer to standard output.
    ///
    /// The caller has escaped control characters in data from the file.
    static func answer(_ line: String) {
        write(line + "\n", to: .standardOutput)
    }

    /// Writes lines of the answer to standard output.
    static func answer(_ lines: [String]) {
        if !lines.isEmpty { write(lines.joined(separator: "\n") + "\n", to: .standardOutput) }
    }

    /// Writes lines that must not be lost to standard output: a full disk is an error.
    static func deliver(_ lines: [String]) throws(Failure) {
        do {
            try FileDescriptor.standardOutput.writeFully(lines.flatMap { $0.utf8 + [0x0A] })
        } catch {
            throw Failure(.inputOutput, "standard output cannot be written: \(error)")
        }
    }

    /// Writes a remark to standard error, on one line; control characters are escaped.
    static func remark(_ message: String) {
        let message = showsProgress ? Hints.complete(message) : message
        write("sluice: \(Visible.text(Secrets.hide(in: message)))\n", to: .standardError)
    }

    /// Writes a message of the argument parser, which has lines of its own.
    static func remark(lines message: String) {
        let lines = Secrets.hide(in: message).split(separator: "\n", omittingEmptySubsequences: false)
        write(
            "sluice: \(lines.map { Visible.text(String($0)) }.joined(separator: "\n"))\n",
            to: .standardError
        )
    }

    /// Writes text to standard error unchanged.
    static func show(_ text: String) {
        write(text, to: .standardError)
    }

    /// Writes text to standard output unchanged.
    static func draw(_ text: String) {
        write(text, to: .standardOutput)
    }

    /// Writes a line of bytes to standard output, after waiting lines.
    static func pass(_ line: some Sequence<UInt8>) {
        output.add(Array(line) + [UInt8(ascii: "\n")])
    }

    /// Writes bytes to standard error unchanged, after waiting lines.
    static func passError(_ bytes: some Sequence<UInt8>) {
        areErrorsPassed.store(true, ordering: .releasing)
        errors.add(Array(bytes))
    }

    /// Lines that commands write.
    static let output = StreamQueue(.standardOutput) { lost($0) }
    /// What commands write to standard error; and remarks, after a call of ``passesOn()``.
    static let errors = StreamQueue(.standardError) { _ in }
    private static let areErrorsQueued = Atomic(false)
    /// Whether there are bytes of commands among them, which must not be lost.
    private static let areErrorsPassed = Atomic(false)

    /// How long to wait at the end for the reader of passed-on lines; `nil` waits without a limit.
    private static let patience = Mutex<Duration?>(nil)

    /// Stops waiting for the reader of standard error.
    static func passesOn() { areErrorsQueued.store(true, ordering: .releasing) }

    /// Limits the wait at the end for the reader of passed-on lines.
    static func hurries(within limit: Duration) { patience.withLock { $0 = limit } }

    /// Waits until passed-on lines have been written; lines that are not read in time count as lost.
    static func flush() async {
        var waited = Duration.zero
        if await !flush(output, &waited) { loss.withLock { $0 = $0 ?? "nobody reads it" } }
        if areErrorsPassed.load(ordering: .acquiring) {
            _ = await flush(errors, &waited)
        } else {
            _ = await errors.flush(within: step)
        }
    }

    /// - Parameter waited: The time that both streams have taken.
    /// - Returns: Whether everything has been written.
    private static func flush(_ stream: StreamQueue, _ waited: inout Duration) async -> Bool {
        while await stream.flush(within: step) > 0 {
            guard let limit = patience.withLock({ $0 }) else { continue }
            waited += step
            if waited >= limit { return false }
        }
        return true
    }

    private static let step: Duration = .milliseconds(100)

    private static func write(_ text: String, to descriptor: FileDescriptor) {
        let bytes = Array(text.utf8)
        if descriptor == .standardError, areErrorsQueued.load(ordering: .acquiring) {
            return errors.addIfRoom(bytes)
        }
        // In one call, so that the lines of several tasks do not mix.
        do { try descriptor.writeFully(bytes) } catch { if descriptor == .standardOutput { lost(error) } }
    }

    /// Notes the error of a lost answer, unless the reader has closed the stream.
    ///
    /// It is reported at the end, since the verb does its work all the same. A lost remark cannot be
    /// reported.
    private static func lost(_ error: any Error) {
        guard (error as? Errno) != .brokenPipe else { return }
        loss.withLock { $0 = $0 ?? "\(error)" }
    }

    /// The first error by which an answer was lost.
    private static let loss = Mutex<String?>(nil)

    /// Throws if an answer was lost.
    ///
    /// - Parameter status: The exit status for that.
    static func finish(_ status: ExitStatus) throws(Failure) {
        guard let error = loss.withLock({ $0 }) else { return }
        throw Failure(
            status,
            status == .unreported
                ? "the command succeeded, but standard output cannot be written: \(error)"
                : "standard output cannot be written: \(error)"
        )
    }
}
#endif
