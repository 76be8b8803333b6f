#if CommandLineTool
internal import ArgumentParser
internal import Sluice

extension CompletionKind {
    /// Completes queue names from the file or server that the command line names so far.
    static let queueNames = CompletionKind.custom { words, index, prefix async in
        var option = StoreOption()
        option.file = Verbs.value(of: ["--file", "-f"], in: words)
        option.postgres = Verbs.value(of: ["--postgres"], in: words)
        option.schema = Verbs.value(of: ["--schema"], in: words)
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
}
#endif
