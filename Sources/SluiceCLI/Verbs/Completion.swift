#if CommandLineTool
internal import ArgumentParser
internal import Sluice

extension CompletionKind {
    /// Completes queue names from the file or server that the command line names so far.
    static let queueNames = CompletionKind.custom { words, index, prefix async in
        var option = StoreOption()
        option.file = value(of: ["--file", "-f"], in: words)
        option.postgres = value(of: ["--postgres"], in: words)
        option.schema = value(of: ["--schema"], in: words)
        guard (option.file == nil) != (option.postgres == nil) else { return [] }
        let found = try? await option.withReader { broker in
            try await broker.engine.queueNames(from: prefix, limit: limit)
        }
        // Names that a shell could not show are not offered.
        return (found ?? []).map(\.rawValue).filter { name in
            name.hasPrefix(prefix) && !name.unicodeScalars.contains(where: Visible.isUnseen)
        }
    }

    /// More suggestions would not help.
    private static let limit = 200

    /// Returns the value of an option.
    static func value(of names: [String], in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if names.contains(word) { return next }
            for name in names where word.hasPrefix(name + "=") && name.hasPrefix("--") {
                return String(word.dropFirst(name.count + 1))
            }
        }
        return nil
    }
}
#endif
