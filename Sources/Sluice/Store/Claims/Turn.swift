/// The slot that a claim is for, and by which rules.
struct Turn {
    var discipline = QueueDiscipline.firstInFirstOut
    /// No rules: whether the slot is taken, the head's row tells.
    var isPlain = false
    var slot = 0
    /// Actions of the queue that run, in whatever process.
    var running: [ActionID] = []
    /// Some of them in other processes, which do not tell when they are through.
    var isShared = false

    static let plain = Turn(isPlain: true)

    var slots: Int { discipline.slots }
    var setsAside: Bool { discipline.setsAside }
    /// What is left when this slot is taken.
    ///
    /// Where other processes have slots it is never full: who asks again hears that they are taken there, and
    /// asks again for that.
    var room: SlotRoom { slots == 1 ? .single : isShared || running.count + 1 < slots ? .more : .full }
}
