import Sluice

/// The action of the load: a line of a queue.
struct Note: Action {
    static let kind = "note"
    var line: Int
    /// The number of its queue.
    var number: Int { line % 1_000 }
    var queue: QueueName { "q/\(number)" }

    init(line: Int) { self.line = line }
    /// The line of a place in a queue.
    init(_ place: Int, inQueue number: Int) { line = place * 1_000 + number }

    /// By whose transaction its success is settled.
    enum Form { case engine, application, none }
    var form: Form {
        // Each queue has all forms.
        switch line / 12_000 % 4 {
        case 0, 1: .engine
        case 2: .application
        default: .none
        }
    }
}
