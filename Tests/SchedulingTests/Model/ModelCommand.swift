@testable import Sluice

/// One thing that is done to a broker and to its model.
///
/// Actions are named by their position among those that there are, so that a command has a meaning also in a
/// list from which others were left out.
enum ModelCommand: Hashable {
    case enqueue(queue: Int, key: Int64)
    case enqueueGated(queue: Int, key: Int64, gate: String)
    case enqueueLater(queue: Int, key: Int64, seconds: Int64)
    case finish(Int, ReferenceBroker.End)
    case cancel(Int)
    case move(Int, queue: Int)
    case moveToFront(Int)
    case skipHead(queue: Int)
    case hold(queue: Int)
    case resume(queue: Int)
    case setGate(String, isOpen: Bool)
    case retryNow(queue: Int)
    case requeue(Int)
    case advance(seconds: Int64)
    case restart(jump: Int64)
}

extension ModelCommand {
    static let queueCount = 3
    private static let gates = ["g", "h"]

    /// A list of commands, which a seed stands for.
    static func list(_ count: Int, for rules: ReferenceBroker.Rules, _ generator: inout SplitMix) -> [Self] {
        (0..<count).map { _ in random(rules, &generator) }
    }

    private static func random(_ rules: ReferenceBroker.Rules, _ generator: inout SplitMix) -> Self {
        func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        // Few queues and few keys, so that they meet.
        let queue = number(0..<queueCount)
        let key = Int64(number(0..<4))
        let gate = gates[number(0..<gates.count)]
        let any = number(0..<100)
        switch number(0..<32) {
        case 0...6: return .enqueue(queue: queue, key: key)
        case 7: return .enqueueGated(queue: queue, key: key, gate: gate)
        case 8: return .enqueueLater(queue: queue, key: key, seconds: Int64(number(1..<5)))
        case 9...15: return .finish(any, end(gate, &generator))
        case 16...17: return .cancel(any)
        case 18...19: return .move(any, queue: queue)
        case 20...21: return .setGate(gate, isOpen: number(0..<2) == 0)
        case 22...24: return .advance(seconds: Int64(number(1..<4)))
        case 25: return .restart(jump: [0, 0, 100, -100][number(0..<4)] * 1_000_000)
        case 26: return .retryNow(queue: queue)
        case 27: return .requeue(any)
        // A pass goes on where the queue is held or parked, which the model does not follow.
        case 28 where rules.discipline != .passOver: return .hold(queue: queue)
        case 29: return .resume(queue: queue)
        // What waits aside has no place that could be the first.
        case 30 where rules.discipline == .firstInFirstOut: return .moveToFront(any)
        case 31 where rules.discipline == .firstInFirstOut: return .skipHead(queue: queue)
        default: return .finish(any, .success)
        }
    }

    private static func end(_ gate: String, _ generator: inout SplitMix) -> ReferenceBroker.End {
        switch Int.random(in: 0..<12, using: &generator) {
        case 0...2: .success
        case 3: .retry(after: nil)
        case 4: .retry(after: Int64.random(in: 0..<4, using: &generator))
        case 5: .retryWhenOpen(gate)
        case 6...7: .fail
        case 8: .release
        case 9: .releaseUntilOpen(gate)
        default: .error
        }
    }
}
