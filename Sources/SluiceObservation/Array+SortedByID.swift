extension Array where Element: Identifiable, Element.ID: Comparable {
    /// Finds an element of an array that is sorted by ids, by halves.
    subscript(id id: Element.ID) -> Element? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].id == id ? self[low] : nil
    }

    /// Returns a sorted array with other elements put in, and some taken out: one pass, however many.
    func merging(_ others: [Element], without gone: [Element]) -> [Element] {
        let gone = Set(gone.map(\.id))
        var rest = ArraySlice(others.sorted { $0.id < $1.id })
        var merged: [Element] = []
        merged.reserveCapacity(count + rest.count)
        for element in self where !gone.contains(element.id) {
            while let next = rest.first, next.id < element.id { merged.append(rest.removeFirst()) }
            merged.append(rest.first?.id == element.id ? rest.removeFirst() : element)
        }
        return merged + rest
    }
}
