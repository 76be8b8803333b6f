#if CommandLineTool
internal import ArgumentParser

/// Where an import reads from.
enum ImportSource: Hashable {
    case lines
    /// The folder that has the inventory.
    case customerIO(path: String)
    case cute(path: String)

    /// Determines the source at a path.
    init(_ path: String, as format: ImportFormat) throws(Failure) {
        guard path != "-", PlainFile.isFolder(path) else {
            guard format == .auto || format == .lines else {
                throw Failure(.noInput, "\(path) cannot be read: it is no folder")
            }
            self = .lines
            return
        }
        switch format {
        case .lines: throw Failure(.noInput, "\(path) cannot be read: it is a folder")
        case .cute:
            // A folder that contains queues must not count as an empty queue.
            let hint = Self.hasJobs(path) ? "" : Self.hint(inside: path, Self.hasJobs)
            guard hint.isEmpty else { throw Failure(.noInput, "\(path) has no job files\(hint)") }
            self = .cute(path: path)
        case .customerIO:
            guard let folder = Self.inventoryFolder(of: path) else {
                let hint = Self.hint(inside: path) { Self.inventoryFolder(of: $0) != nil }
                throw Failure(
                    .noInput,
                    "\(path) cannot be read: it has no \(CustomerIOFolder.inventoryName)\(hint)"
                )
            }
            self = .customerIO(path: folder)
        case .auto: self = try Self.detected(at: path)
        }
    }

    /// Returns the folder with the inventory: this one, or its folder `queue`.
    private static func inventoryFolder(of path: String) -> String? {
        [path, "\(path)/queue"].first { PlainFile.isThere("\($0)/\(CustomerIOFolder.inventoryName)") }
    }

    private static func detected(at path: String) throws(Failure) -> ImportSource {
        if let folder = inventoryFolder(of: path) { return .customerIO(path: folder) }
        if PlainFile.isFolder("\(path)/\(CustomerIOFolder.tasksName)") {
            throw Failure(
                .noInput,
                "\(path) cannot be read: it has \(CustomerIOFolder.tasksName) and no "
                    + "\(CustomerIOFolder.inventoryName), which alone knows their order"
            )
        }
        // Each of its files is a task's, and they do not have the order.
        if PlainFile.ownName(of: path) == CustomerIOFolder.tasksName, let parent = PlainFile.parent(of: path),
            PlainFile.isThere("\(parent)/\(CustomerIOFolder.inventoryName)")
        {
            throw Failure(.noInput, "\(path) is a part of the queue in \(parent): give that folder")
        }
        do throws(Refusal) {
            if try PlainFile.names(in: path).contains(where: { $0.hasSuffix(".json") }) {
                return .cute(path: path)
            }
        } catch {
            throw Failure(.noInput, "\(path) cannot be read: \(error.reason)")
        }
        let hint = hint(inside: path) { inventoryFolder(of: $0) != nil || hasJobs($0) }
        throw Failure(
            .noInput,
            "\(path) has neither the \(CustomerIOFolder.inventoryName) of Customer.io nor job files of Cute"
                + (hint.isEmpty ? "; a queue of Cute's that is empty is imported with --format cute" : hint)
        )
    }

    /// How deep to search for a folder inside another one, and how many to check.
    private static let hintDepth = 3
    private static let hintLimit = 1_000

    /// Returns a hint about a suitable folder inside; empty when none is found.
    private static func hint(inside path: String, _ isFit: (String) -> Bool) -> String {
        var level = [path]
        for _ in 0..<hintDepth {
            level = Array(level.flatMap { folders(in: $0) }.prefix(hintLimit))
            if let fit = level.first(where: isFit) { return "; its folder \(fit) has" }
        }
        return ""
    }

    private static func hasJobs(_ path: String) -> Bool {
        (try? PlainFile.names(in: path).contains { $0.hasSuffix(".json") }) ?? false
    }

    /// Returns the folders in a folder, without symbolic links.
    private static func folders(in path: String) -> [String] {
        let names = (try? PlainFile.names(in: path)) ?? []
        return names.prefix(hintLimit).map { "\(path)/\($0)" }
            .filter { PlainFile.isFolder($0) && !PlainFile.isLink($0) }
    }
}
#endif
