#if PostgreSQL
import Sluice
import SluicePostgres

/// The network between a process and the server, with what the seed does to it.
// Used by the one thread of the world that runs.
final class SimulatedNetwork: PostgresConnector, @unchecked Sendable {
    let process: SimulatedProcess
    let server: ModelServer
    let judge: ServerJudge
    /// Until when nothing gets through.
    var cutUntil: Duration = .zero
    /// Of a hundred calls, how many lose their connection.
    var loss = 0
    /// Of a hundred calls, of how many a pooler loses the answer, and reports that.
    var poolerLoss = 0
    /// Of a hundred calls, how many are held up for seconds.
    var delay = 0
    /// Bytes a second; `nil`: as fast as one likes.
    var bandwidth: Int?

    init(_ process: SimulatedProcess, _ server: ModelServer, _ judge: ServerJudge) {
        (self.process, self.server, self.judge) = (process, server, judge)
    }

    var world: World { process.world }
    var isCut: Bool { cutUntil > world.now }

    func queue() -> any WorkQueue { process.place.queue("postgres", isUrgent: true) }

    func connect(_ address: PostgresAddress) throws(PostgresFailure) -> any PostgresLink {
        wait(.microseconds(world.random.below(3_000)))
        if isCut {
            wait(.seconds(10))
            throw .cannotConnect("timeout expired")
        }
        guard !server.isDown else { throw .cannotConnect("Connection refused") }
        let link = SimulatedLink(self)
        server.links.append(link)
        return link
    }

    func wait(_ time: Duration) { _ = world.wait(until: world.now + time) { _ in } }

    /// Ends the connections of the process.
    func cut() { for link in server.links where link.process === process { link.lose() } }

    /// How long a message takes one way.
    func travel(_ byteCount: Int = 0) -> Duration {
        var time = Duration.microseconds(100 + world.random.below(3_000))
        if world.random.percent(delay) { time += .milliseconds(world.random.below(25_000)) }
        if let bandwidth { time += .seconds(1) * Double(byteCount) / Double(bandwidth) }
        return time
    }
}

/// A connection over a simulated network: a call, or its answer, may be late or lost.
///
/// What was sent on it may still be executed when its process has given it up.
// Used by the one thread of the world that runs.
final class SimulatedLink: PostgresLink, @unchecked Sendable {
    private typealias Answer = Result<PostgresRows, PostgresFailure>

    private let network: SimulatedNetwork
    private var isLost = false
    private var waiter: Waiter?
    private var bell: (queue: any WorkQueue, ring: @Sendable () -> Void, lost: @Sendable () -> Void)?

    init(_ network: SimulatedNetwork) { self.network = network }

    var process: SimulatedProcess { network.process }
    private var world: World { network.world }
    private var server: ModelServer { network.server }

    var isAlive: Bool { !isLost }

    func finish() {
        isLost = true
        bell = nil
        server.links.removeAll { $0 === self }
    }

    /// The system tells of it at once, as of a server that was ended.
    func lose() {
        guard !isLost else { return }
        isLost = true
        server.links.removeAll { $0 === self }
        if let waiter { world.ready(waiter) }
        if let bell, !process.isDead { bell.queue.add(bell.lost) }
        bell = nil
    }

    func watch(
        on queue: any WorkQueue,
        ring: @escaping @Sendable () -> Void,
        lost: @escaping @Sendable () -> Void
    ) {
        if isLost { return queue.add(lost) }
        bell = (queue, ring, lost)
    }

    func ring() {
        guard let bell, !isLost, !network.isCut else { return }
        world.at(world.now + network.travel(), process) { bell.queue.add(bell.ring) }
    }

    func execute(script: String) throws(PostgresFailure) {
        preconditionFailure("the model has all steps of the schema")
    }

    func call(
        _ sql: String,
        _ parameters: [String?],
        within limit: Duration
    ) throws(PostgresFailure) -> PostgresRows {
        guard !isLost else { throw .lost("the connection was lost before") }
        let (sent, isStep) = (world.now, ModelCall.function(in: sql) == "step")
        // Written by the world when the answer is there.
        var answer: Answer?
        let (isRequestLost, isAnswerLost) = (
            world.random.percent(network.loss), world.random.percent(network.loss)
        )
        let isPoolerLoss = network.poolerLoss > 0 && world.random.percent(network.poolerLoss)
        world.at(sent + network.travel(Self.bytes(of: parameters)), world.director) {
            [self] in
            // What is on its way when a connection ends may arrive all the same.
            if isRequestLost || network.isCut || server.isDown { return lose() }
            if isLost, world.random.percent(50) { return }
            var result = execute(sql, parameters)
            if isPoolerLoss { result = .failure(Self.poolerFailure) }
            if isAnswerLost || server.isDown { return lose() }
            world.at(world.now + network.travel(isStep ? Self.payloadBytes(result) : 0), world.director) {
                [self] in
                if network.isCut { return lose() }
                guard !isLost else { return }
                answer = result
                if let waiter { world.ready(waiter) }
            }
        }
        _ = world.wait(until: sent + limit) { waiter = $0 }
        waiter = nil
        guard let answer else {
            if isLost { throw .lost("server closed the connection unexpectedly") }
            isLost = true
            throw .lost(PostgresFailure.tooLate)
        }
        let rows = try answer.get()
        if isStep { network.judge.noteAnswer(rows, sent: sent) }
        return rows
    }

    private static let poolerFailure = PostgresFailure.refused(
        state: "08P01",
        message: "server conn crashed?",
        detail: nil
    )

    /// Without the short ones, of which some are random numbers that no seed decides.
    private static func bytes(of parameters: [String?]) -> Int {
        parameters.compactMap { $0?.utf8.count }.filter { $0 > 200 }.reduce(0, +)
    }

    private static func payloadBytes(_ step: Answer) -> Int {
        guard case .success(let rows) = step else { return 0 }
        return rows.reduce(0) { $0 + ($1["payload"]?.utf8.count ?? 0) }
    }

    private func execute(_ sql: String, _ parameters: [String?]) -> Answer {
        do throws(PostgresFailure) {
            return .success(try server.execute(sql, parameters))
        } catch {
            world.note("the server refuses a call of \(process.name): \(error)")
            return .failure(error)
        }
    }
}
#endif
