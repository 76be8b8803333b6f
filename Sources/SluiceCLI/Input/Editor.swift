#if CommandLineTool
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
    /// Opens a text in the editor, and returns it as it was saved, without a line break at its end.
    ///
    /// The text is in a file that only its owner can read, which is deleted afterwards.
    static func edit(_ text: String) throws -> String {
        var template = Array("\(environment("TMPDIR") ?? "/tmp")/sluice-edit-XXXXXX.json".utf8CString)
        let descriptor = mkstemps(&template, 5)
        guard descriptor >= 0 else { throw failure("a temporary file cannot be made") }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        defer { unlink(path) }
        let file = FileDescriptor(rawValue: descriptor)
        do {
            try file.closeAfter { _ = try file.writeAll((text + "\n").utf8) }
        } catch {
            throw Failure(.inputOutput, "\(path) cannot be written: \(error)")
        }
        try open(path)
        let saved = try contents(of: path)
        return saved.hasSuffix("\n") ? String(saved.dropLast()) : saved
    }

    private static func open(_ path: String) throws {
        let editor = environment("VISUAL") ?? environment("EDITOR") ?? "vi"
        // By a shell, since the variable may have arguments, such as `code --wait`.
        let quoted = path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#)
        guard system("\(editor) '\(quoted)'") == 0 else {
            throw Failure(.leftover, "the editor '\(editor)' ended without success: nothing is changed")
        }
    }

    private static func contents(of path: String) throws -> String {
        do {
            let file = try FileDescriptor.open(path, .readOnly)
            return try file.closeAfter {
                var bytes: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while true {
                    let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0) }
                    guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
                    bytes += buffer[..<count]
                }
            }
        } catch {
            throw Failure(.inputOutput, "\(path) cannot be read: \(error)")
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
