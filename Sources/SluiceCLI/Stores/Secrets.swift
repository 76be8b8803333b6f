#if CommandLineTool
/// Passwords in the arguments, which no message may repeat.
enum Secrets {
    /// The forms in which the arguments have passwords: `:word@` and `password=word`.
    private static let known: [(text: String, hidden: String)] = CommandLine.arguments.flatMap(forms)

    /// Returns a message without the passwords of the arguments.
    static func hide(in message: String) -> String { hide(known, in: message) }

    /// Returns a message without the passwords of an argument.
    static func hide(of argument: String, in message: String) -> String { hide(forms(argument), in: message) }

    private static func hide(_ forms: [(text: String, hidden: String)], in message: String) -> String {
        forms.reduce(message) { $0.replacing($1.text, with: $1.hidden) }
    }

    /// Whether a URL has an `@` where libpq would take a part of a password for the host or the port.
    static func hasUnescapedPassword(_ url: String) -> Bool {
        guard let authority = authority(url) else { return false }
        guard let end = authority.lastIndex(of: "@") else { return false }
        return authority[..<end].contains { $0 == "@" || $0 == "/" }
    }

    private static func forms(_ argument: String) -> [(text: String, hidden: String)] {
        var forms: [(text: String, hidden: String)] = []
        if let authority = authority(argument), let end = authority.lastIndex(of: "@"),
            let start = authority.firstIndex(of: ":"), start < end
        {
            forms.append(("\(authority[start..<end])@", ":***@"))
        }
        var rest = argument[...]
        while let found = rest.firstRange(of: "password=") {
            rest = rest[found.upperBound...]
            // The rest of a list of settings may belong to a password in quotes.
            let word = rest.first == "'" ? rest : rest.prefix { $0 != "&" && $0 != " " }
            if !word.isEmpty { forms.append(("password=\(word)", "password=***")) }
        }
        return forms
    }

    /// The part of a URL that has user, password and host, with the path.
    private static func authority(_ url: String) -> Substring? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        return url[scheme.upperBound...].prefix { $0 != "?" }
    }
}
#endif
