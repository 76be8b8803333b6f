#if CommandLineTool
import Sluice

/// An action that may be poison, as the child has it.
struct Job: Action {
    static let kind = "job"
    var lane: Int
    var isPoison: Bool
    var queue: QueueName { "lane/\(lane)" }
}
#endif
