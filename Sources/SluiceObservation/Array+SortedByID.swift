internal import Sluice

/// Arrays that are sorted by the ids of their elements.
extension Array where Element: Identifiable & Hashable & Sendable, Element.ID: Comparable & Sendable {
    /// Finds an element by halves.
    subscript(id id: Element.ID) -> Element? {
        let index = place(of: id)
        return index < count && self[index].id == id ? self[index] : nil
    }

    /// Replaces all elements with a snapshot, or only those of a change.
    mutating func apply(_ update: StateUpdate<Element>) {
        if update.isSnapshot {
            self = update.states.sorted { $0.id < $1.id }
            return
        }
        for element in update.gone {
            let index = place(of: element.id)
            if index < count, self[index].id == element.id { remove(at: index) }
        }
        for element in update.states {
            let index = place(of: element.id)
            let isThere = index < count && self[index].id == element.id
            replaceSubrange(index..<(isThere ? index + 1 : index), with: CollectionOfOne(element))
        }
    }

    /// - Returns: The index of the element, or the one that it would have.
    private func place(of id: Element.ID) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
