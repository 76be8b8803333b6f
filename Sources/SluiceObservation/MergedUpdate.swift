internal import Sluice

/// An update and all elements after it; made away from the main actor.
struct MergedUpdate<Element: Sendable & Hashable & Identifiable>: Sendable
where Element.ID: Sendable & Comparable {
    let update: StateUpdate<Element>
    /// The elements that match no more, as far as they are known.
    let gone: [Element]
    /// Sorted by their ids.
    let all: [Element]

    init(_ update: StateUpdate<Element>, after last: MergedUpdate?, missed: [Element]) {
        self.update = update
        gone = update.gone + missed
        let known: [Element] = update.isSnapshot ? [] : last?.all ?? []
        all = known.merging(update.states, without: update.gone)
    }
}
