/// Elements in growing memory; the first memory is borrowed.
struct GrowingBuffer<Element: BitwiseCopyable> {
    private(set) var start: UnsafeMutablePointer<Element>
    private(set) var capacity: Int
    private var isOwned = false
    var count = 0

    init(_ first: UnsafeMutableRawPointer, capacity: Int) {
        start = first.bindMemory(to: Element.self, capacity: capacity)
        self.capacity = capacity
    }

    func deallocate() { if isOwned { start.deallocate() } }

    @inline(__always)
    mutating func reserve(_ more: Int) { if capacity &- count < more { grow(more) } }

    @inline(never)
    private mutating func grow(_ more: Int) {
        // With room for the bytes after a long string, such as the end of its object.
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
