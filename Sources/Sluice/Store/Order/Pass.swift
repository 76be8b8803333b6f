/// The progress of the pass through a queue; a class, so that the lanes of other queues are no larger.
final class Pass {
    /// The place of the last action that was passed over; the pass continues after it.
    var mark: Place?
    /// Places up to the mark that the order on disk may lack, in no order.
    var passed: [Place] = []
    /// Whether an action was tried, or may have become able to run; else another pass would be useless.
    var isWorthRepeating: Bool
    /// Places added since another process may have moved the mark; `nil` while the mark is known.
    private var newcomers: [Place]?

    init(mark: Place?, isWorthRepeating: Bool) {
        (self.mark, self.isWorthRepeating) = (mark, isWorthRepeating)
    }

    var isOutdated: Bool { newcomers != nil }
    func outdate() { if newcomers == nil { newcomers = [] } }

    /// Records that the mark was read again, and returns the places added before that.
    func update() -> [Place] {
        defer { newcomers = nil }
        return newcomers ?? []
    }

    /// Keeps a place for the next pass if this one has passed it, or may have; returns whether it did.
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
