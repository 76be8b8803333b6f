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
            try FileDescriptor.standardOutput.writeFully(lines.flatMap { $0.utf8 + [0x0A] })
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

    /// Writes a line of bytes to standard output, behind those that wait.
    static func pass(_ line: some Sequence<UInt8>) {
        output.add(Array(line) + [UInt8(ascii: "\n")])
    }

    /// Lines that commands write.
    static let output = StreamQueue(.standardOutput) { lost($0) }
    /// Remarks, once ``passesOn`` has been called.
    private static let errors = StreamQueue(.standardError) { _ in }
    private static let areErrorsQueued = Atomic(false)

    /// How long the end waits for who reads what was passed on; `nil`: however long it takes.
    private static let patience = Mutex<Duration?>(nil)

    /// From now on nobody waits for who reads standard error.
    static func passesOn() { areErrorsQueued.store(true, ordering: .releasing) }

    /// The end is not to wait for long for who reads what was passed on.
    static func hurries(within limit: Duration) { patience.withLock { $0 = limit } }

    /// Returns when what was passed on has been written; what nobody reads in time counts as lost.
    static func flush() async {
        var waited = Duration.zero
        while await output.flush(within: step) > 0 {
            guard let limit = patience.withLock({ $0 }) else { continue }
            waited += step
            if waited >= limit {
                loss.withLock { $0 = $0 ?? "nobody reads it" }
                break
            }
        }
        _ = await errors.flush(within: step)
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

    /// A reader that has gone is no error of ours.
    ///
    /// That an answer was lost otherwise is said at the end, as
    /// what the verb was to do is done all the same; nobody can be told that a remark was lost.
    private static func lost(_ error: any Error) {
        guard (error as? Errno) != .brokenPipe else { return }
        loss.withLock { $0 = $0 ?? "\(error)" }
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
