/// The slot of a claim, and the discipline of its queue.
struct Turn {
    var discipline = QueueDiscipline.firstInFirstOut
    /// Whether the queue has no rules, so that the head's row shows whether the slot is taken.
    var isPlain = false
    var slot = 0
    /// The queue's running actions, in all processes.
    var running: [ActionID] = []
    /// Whether other processes run some of them; those do not report when they are done.
    var isShared = false
    static let plain = Turn(isPlain: true)
    var slots: Int { discipline.slots }
    var defersWaiting: Bool { discipline.defersWaiting }
    /// Never full if other processes have slots: the next claim finds them taken, so the queue is polled.
    var room: SlotRoom { slots == 1 ? .single : isShared || running.count + 1 < slots ? .more : .full }
}
