internal import DequeModule
internal import HeapModule

// MARK: - Passes

/// How far the pass through a queue has come.
///
/// A class, so that the lanes of other queues are no larger for it.
final class Pass {
    /// The place of the last action that was passed over; the pass goes on behind it.
    var mark: Place?
    /// Places up to the mark that the file may lack, in no order.
    var passed: [Place] = []
    /// Whether something has been tried since the pass began, or may have become able to run: a pass in which
    /// all were passed over untried is not begun anew for nothing.
    var isWorthRepeating: Bool
    /// What has come since another process may have moved the mark; `nil` while the mark is known.
    private var newcomers: [Place]?

    init(mark: Place?, isWorthRepeating: Bool) {
        (self.mark, self.isWorthRepeating) = (mark, isWorthRepeating)
    }

    /// Whether the mark is to be read again.
    var isOutdated: Bool { newcomers != nil }

    /// Another process may have moved the mark.
    func outdate() { if newcomers == nil { newcomers = [] } }

    /// The mark has been read again.
    ///
    /// - Returns: What came meanwhile.
    func update() -> [Place] {
        defer { newcomers = nil }
        return newcomers ?? []
    }

    /// Keeps a place for the next pass, if this one has gone by it, or may have.
    func keep(_ place: Place) -> Bool {
        if newcomers != nil {
            newcomers?.append(place)
            passed.append(place)
            return true
        }
        guard let mark, place <= mark else { return false }
        passed.append(place)
        isWorthRepeating = true
        return true
    }
}
