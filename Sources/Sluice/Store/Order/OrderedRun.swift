/// The place of an action that runs, for when its run ends.
struct OrderedRun {
    let queue: QueueID
    let place: Place
    let claim: Int64
    let discipline: QueueDiscipline
}
