#if Web
internal import Foundation

/// The tokens of a file: one a line, after the role that it gives and a name for the audit log.
///
/// ```
/// # role  name   token
/// act     ada    p9ZcSgN4mYx2w7QkLr5TtA
/// look    wall   Vb3nH8eJd6RfCq1KzM0XyU
/// ```
///
/// Only the file's owner may be able to read it. It is read once.
public struct TokenFile: Sendable {
    /// The fewest characters of a token: 22 of base64 have 128 bits.
    public static let minimumTokenLength = 22

    private struct Entry: Sendable {
        let person: Operator
        let token: [UInt8]
    }

    private let entries: [Entry]

    /// Reads a file.
    ///
    /// - Throws: ``PageError`` that names the file and line: the file cannot be read, others may read it, it
    ///   has no token, or a line is no role, name and token.
    public init(path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw PageError(.invalid, "the token file \(path) cannot be read")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        if let mode = attributes[.posixPermissions] as? Int, mode & 0o077 != 0 {
            throw PageError(.invalid, "others can read the token file \(path): run chmod 600 on it")
        }
        try self.init(text: String(decoding: data, as: UTF8.self), named: path)
    }

    init(text: String, named path: String) throws(PageError) {
        var entries: [Entry] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .enumerated()
        {
            let words = line.split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            guard words.count == 3, let role = Operator.Role(rawValue: String(first)),
                words[2].utf8.count >= Self.minimumTokenLength
            else {
                throw PageError(
                    .invalid,
                    "line \(index + 1) of the token file \(path) is not `look` or `act`, a name, and a token "
                        + "of at least \(Self.minimumTokenLength) characters"
                )
            }
            entries.append(
                Entry(person: Operator(name: String(words[1]), role: role), token: Array(words[2].utf8))
            )
        }
        guard !entries.isEmpty else {
            throw PageError(.invalid, "the token file \(path) has no token")
        }
        self.entries = entries
    }

    /// Returns whose token it is; takes as long for a wrong token as for a right one.
    func person(with token: String) -> Operator? {
        let given = Array(token.utf8)
        var found: Operator?
        for entry in entries {
            var difference = given.count ^ entry.token.count
            for (index, byte) in entry.token.enumerated() {
                difference |= Int(byte ^ (index < given.count ? given[index] : 0))
            }
            if difference == 0 { found = entry.person }
        }
        return found
    }
}
#endif
