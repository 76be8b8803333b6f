#if CommandLineTool
internal import Sluice
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The editor of the person at the terminal.
enum Editor {
    /// Opens a text in the editor, and passes it on as it was saved, without a line break at its end.
    ///
    /// The text is in a file that only its owner can read. It is deleted afterwards, unless `use` throws.
    static func edit(_ text: String, _ use: (String) async throws -> Void) async throws {
        var template = Array("\(environment("TMPDIR") ?? "/tmp")/sluice-edit-XXXXXX.json".utf8CString)
        let descriptor = mkstemps(&template, 5)
        guard descriptor >= 0 else { throw failure("a temporary file cannot be made") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        do {
            let file = FileDescriptor(rawValue: descriptor)
            try file.closeAfter { _ = try file.writeAll((text + "\n").utf8) }
            try open(path)
        } catch {
            unlink(path)
            throw (error as? Failure) ?? Failure(.inputOutput, "\(path) cannot be written: \(error)")
        }
        do {
            try await use(saved(in: path))
            unlink(path)
        } catch {
            Terminal.remark("the text is kept in \(path)")
            throw error
        }
    }

    private static func open(_ path: String) throws {
        let chosen = environment("VISUAL") ?? environment("EDITOR")
        guard chosen != nil || isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 else {
            throw Failure(.usage, "there is no terminal for an editor: give --payload, or set EDITOR")
        }
        let editor = chosen ?? "vi"
        // By a shell, since the variable may have arguments, such as `code --wait`.
        let quoted = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        guard system("\(editor) '\(quoted)'") == 0 else {
            throw Failure(.leftover, "the editor '\(editor)' ended without success: nothing is changed")
        }
    }

    private static func saved(in path: String) throws(Failure) -> String {
        do throws(Refusal) {
            // Room for the line break.
            let limit = BrokerOptions().maximumPayloadByteCount + 2
            let bytes = try PlainFile.contents(of: path, limit: limit)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Refusal("it is not UTF-8")
            }
            return text.utf8.last == UInt8(ascii: "\n") ? String(text.dropLast()) : text
        } catch {
            throw Failure(.refused, "what the editor has saved is refused: \(error.reason)")
        }
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func failure(_ what: String) -> Failure {
        Failure(.inputOutput, "\(what): errno \(errno)")
    }
}
#endif
