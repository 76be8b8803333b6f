/// Arrays that are sorted by the ids of their elements.
extension Array where Element: Identifiable, Element.ID: Comparable {
    /// Finds an element by halves.
    subscript(id id: Element.ID) -> Element? {
        let index = index(of: id)
        return index < count && self[index].id == id ? self[index] : nil
    }

    /// Replaces the elements, or only those that have changed.
    mutating func apply(_ changed: [Element], gone: [Element.ID], isSnapshot: Bool) {
        if isSnapshot {
            self = changed.sorted { $0.id < $1.id }
            return
        }
        for id in gone {
            let index = index(of: id)
            if index < count, self[index].id == id { remove(at: index) }
        }
        for element in changed {
            let index = index(of: element.id)
            let isThere = index < count && self[index].id == element.id
            replaceSubrange(index..<(isThere ? index + 1 : index), with: CollectionOfOne(element))
        }
    }

    /// - Returns: The index of the element, or the one that it would have.
    private func index(of id: Element.ID) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
