/// Makes a list shorter as long as what is left still fails: by halves, quarters and so on down to single
/// elements, until none can be left out (Zeller and Hildebrandt: Simplifying and Isolating Failure-Inducing
/// Input, 2002).
///
/// - Parameters:
///   - limit: The most tries; each takes as long as a run.
///   - fails: Whether a shorter list still fails.
func shrink<Element>(
    _ elements: [Element],
    limit: Int = 500,
    _ fails: ([Element]) async throws -> Bool
) async rethrows -> [Element] {
    var (current, tries, size) = (elements, 0, max(elements.count / 2, 1))
    while tries < limit, !current.isEmpty {
        var hasShrunk = false
        var start = 0
        while start < current.count, tries < limit {
            var shorter = current
            shorter.removeSubrange(start..<min(start + size, current.count))
            tries += 1
            if try await fails(shorter) {
                (current, hasShrunk) = (shorter, true)
            } else {
                start += size
            }
        }
        if size > 1 { size /= 2 } else if !hasShrunk { break }
    }
    return current
}
