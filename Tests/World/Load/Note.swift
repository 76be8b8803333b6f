import Sluice

/// The action of the load: a line of a queue.
struct Note: Action {
    static let kind = "note"
    var number: Int
    var line: Int
    var queue: QueueName { "q/\(number)" }

    /// By whose transaction its success is settled.
    enum Form { case engine, application, none }
    var form: Form {
        switch line % 4 {
        case 0, 1: .engine
        case 2: .application
        default: .none
        }
    }
}
