#if CommandLineTool
internal import ArgumentParser
internal import Sluice

extension CompletionKind {
    /// Completes queue names from the file that the command line names so far.
    static let queueNames = CompletionKind.custom { words, index, prefix async in
        guard let path = path(in: words) else { return [] }
        var option = FileOption()
        option.path = path
        let found = try? await option.withReader { broker in
            try await broker.store.queueNames(from: prefix, limit: limit)
        }
        // Names that a shell could not show are not offered.
        return (found ?? []).map(\.rawValue).filter { name in
            name.hasPrefix(prefix) && !name.unicodeScalars.contains(where: Visible.isUnseen)
        }
    }

    /// More suggestions would not help.
    private static let limit = 200

    /// Returns the value of `--file` or `-f`.
    private static func path(in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if word == "--file" || word == "-f" { return next }
            if word.hasPrefix("--file=") { return String(word.dropFirst(7)) }
        }
        return nil
    }
}
#endif
