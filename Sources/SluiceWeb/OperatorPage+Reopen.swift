#if Web
internal import Hummingbird
internal import Logging
internal import NIOCore
internal import Sluice

extension OperatorPage {
    /// The time between two tries to open a store that was lost.
    private static let reopenInterval: Duration = .seconds(1)

    /// Opens the store again after its file was replaced; it returns when that has succeeded.
    ///
    /// Questions and jobs end: their numbers would mean other actions in the new file.
    func reopen(after error: SluiceError) async throws {
        guard let open = options.reopen else {
            if store.lose(.replaced) {
                let text = "The file was replaced: this page shows nothing until the program opens it again"
                options.logger.error("\(text)", metadata: ["error": "\(error.message)"])
            }
            return
        }
        guard store.lose(.reopening) else { return }
        jobs.stopAll()
        sessions.forgetQuestions()
        options.logger.warning(
            "The file was replaced, and is opened again",
            metadata: ["error": "\(error.message)"]
        )
        var lastProblem: String?
        while true {
            do {
                let broker = try await open()
                board.forget()
                healthCheck.forget()
                store.replace(by: broker)
                options.logger.notice("The file was opened again")
                return
            } catch {
                let problem = "\(error)"
                if problem != lastProblem {
                    options.logger.error("The file cannot be opened", metadata: ["error": "\(problem)"])
                }
                lastProblem = problem
                surroundings.fail("the file was replaced, and cannot be opened yet: \(problem)")
            }
            try await options.clock.sleep(for: Self.reopenInterval)
        }
    }

    /// What `GET /healthz` answers: for a supervisor, so without a login, and without a fact of the store.
    var health: CurrentStore.Health {
        if let loss = store.loss { return loss }
        if error != nil { return .unreadable }
        return board.totals.isComplete ? .ok : .starting
    }

    func healthz() -> Response {
        let health = health
        return Response(
            status: health == .ok ? .ok : .serviceUnavailable,
            headers: RequestGate.headers(type: "text/plain; charset=utf-8"),
            body: ResponseBody(byteBuffer: ByteBuffer(string: "\(health.rawValue)\n"))
        )
    }
}
#endif
