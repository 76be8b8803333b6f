/// Elements in growing memory; the first memory may be borrowed.
struct GrowingBuffer<Element: BitwiseCopyable> {
    private(set) var start: UnsafeMutablePointer<Element>
    private var capacity: Int
    private var isOwned: Bool
    var count = 0

    init(_ first: UnsafeMutableRawPointer, capacity: Int, isOwned: Bool = false) {
        start = first.bindMemory(to: Element.self, capacity: capacity)
        self.capacity = capacity
        self.isOwned = isOwned
    }

    func deallocate() { if isOwned { start.deallocate() } }

    @inline(__always)
    mutating func reserve(_ more: Int) { if capacity &- count < more { grow(more) } }

    @inline(never)
    private mutating func grow(_ more: Int) {
        // With room for what follows a long string, such as the end of its object.
        capacity = max(capacity * 2, count + more + 64)
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        deallocate()
        start = larger
        isOwned = true
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        reserve(1)
        start[count] = element
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ source: UnsafePointer<Element>, count more: Int) {
        reserve(more)
        (start + count).update(from: source, count: more)
        count &+= more
    }
}
