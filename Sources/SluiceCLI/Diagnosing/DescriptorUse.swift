#if CommandLineTool
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The number and the limit of a process's open descriptors; on Linux, for processes that may be inspected.
struct DescriptorUse {
    /// Reported from here on, as some descriptors are needed only for a moment.
    private static let nearlyAll = 0.9

    let open: Int
    let limit: Int

    init?(of process: Int64) {
        #if os(Linux)
        guard
            let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count,
            let limits = try? String(contentsOfFile: "/proc/\(process)/limits", encoding: .utf8),
            let line = limits.split(separator: "\n").first(where: { $0.hasPrefix("Max open files") }),
            let limit = line.split(separator: " ").compactMap({ Int($0) }).first
        else { return nil }
        (self.open, self.limit) = (open, limit)
        #else
        return nil
        #endif
    }

    var isNearlyAll: Bool { Double(open) >= Double(limit) * Self.nearlyAll }
}
#endif
