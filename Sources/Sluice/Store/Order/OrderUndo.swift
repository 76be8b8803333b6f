/// A step that a roll-back undoes.
enum OrderUndo {
    case untake(QueueID, Place)
    case unpass(QueueID, Place)
    case resume(OrderedRun)
}
