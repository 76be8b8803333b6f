#if CommandLineTool
internal import ArgumentParser
internal import Sluice

extension CompletionKind {
    /// The names of queues in the file that the command line names so far.
    static let queueNames = CompletionKind.custom { words, index, prefix async in
        guard let path = path(in: words) else { return [] }
        var option = FileOption()
        option.path = path
        let found = try? await option.withReader { broker in
            try await broker.store.queueNames(from: prefix, limit: limit)
        }
        // One that a shell could not show is not offered.
        return (found ?? []).map(\.rawValue).filter { name in
            name.hasPrefix(prefix) && !name.unicodeScalars.contains(where: Visible.isUnseen)
        }
    }

    /// More would not help anybody who types.
    private static let limit = 200

    /// What stands behind `--file` or `-f`.
    private static func path(in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if word == "--file" || word == "-f" { return next }
            if word.hasPrefix("--file=") { return String(word.dropFirst(7)) }
        }
        return nil
    }
}
#endif
