#if CommandLineTool
/// Commands in answers, such as `sluice retry a`: on a terminal they name the file or server of this call,
/// so that they can be pasted.
enum Hints {
    private static let store = store(in: Array(CommandLine.arguments.dropFirst()))

    /// Returns a text for people with the commands complete.
    static func complete(_ text: String) -> String { complete(text, with: store) }

    /// - Parameter store: The option with the file or the server; `nil` changes nothing.
    static func complete(_ text: String, with store: String?) -> String {
        guard let store else { return text }
        return text.replacing(#/`(sluice [a-z][^`]*)`/#) { found in
            let isWhole = ["--help", "--file", "--postgres"].contains { found.1.contains($0) }
            return isWhole ? "`\(found.1)`" : "`\(found.1) \(store)`"
        }
    }

    /// Returns the option with the file or the server of a call, as a shell reads it.
    static func store(in arguments: [String]) -> String? {
        if let file = Verbs.value(of: ["--file", "-f"], in: arguments) { return "--file \(quoted(file))" }
        guard let server = Verbs.value(of: ["--postgres"], in: arguments) else { return nil }
        // With a password, the command would have to be completed by hand anyway.
        guard Secrets.hide(of: server, in: server) == server else { return nil }
        let schema = Verbs.value(of: ["--schema"], in: arguments).map { " --schema \(quoted($0))" } ?? ""
        return "--postgres \(quoted(server))\(schema)"
    }

    private static func quoted(_ word: String) -> String {
        if word.wholeMatch(of: #/[A-Za-z0-9_.\/:@%+=-]+/#) != nil { return word }
        return "'\(word.replacing("'", with: #"'\''"#))'"
    }
}
#endif
