#if Web
internal import Foundation
internal import Sluice

/// Does the acts that operators have confirmed.
struct Acting {
    let site: OperatorPage

    /// Does one, or begins a job, and returns where the browser goes next.
    func perform(_ visit: Visit) async throws -> String {
        try visit.checkRole()
        let token = visit.form["question"]
        let asked = site.sessions.question(token, visit.session.id)
        // Refused parameters leave the question open.
        let command = try asked?.command(answeredBy: visit.form)
        guard let subjects = asked?.subjects, let command, site.sessions.answer(token, visit.session.id)
        else {
            throw PageError(
                .conflict,
                "this question is not open: the audit says whether it has been answered; if not, ask again"
            )
        }
        guard subjects.count == 1 else { return await start(command, subjects, visit) }
        let sentence = try await command.sentence(of: subjects[0], site.broker)
        let result: String
        do {
            result = try await command.act(on: subjects[0], site.broker, visit.person)
        } catch {
            await site.audit.note(sentence, by: visit.person, "failed: \(error)")
            throw error
        }
        await site.audit.note(sentence, by: visit.person, result)
        site.sessions.setNotice("\(sentence): \(result).", visit.session.id)
        let place = command.place
        return visit.link(place.path, place.query)
    }

    private func start(_ command: Command, _ subjects: [Subject], _ visit: Visit) async -> String {
        let (site, person) = (site, visit.person)
        // That of the question: after the file was replaced, its numbers mean others.
        let broker = site.broker
        let place = command.place
        let fields = place.query.encoded
        let caller = Caller.current
        let job = site.jobs.start(
            command.sentence,
            by: person,
            total: subjects.count,
            place: place.path + (fields.isEmpty ? "" : "?\(fields)")
        ) { job in
            await Caller.$current.withValue(caller) { await run(job, command, subjects, broker) }
        }
        return visit.link("/job", "id", job.id)
    }

    private func run(
        _ job: Job,
        _ command: Command,
        _ subjects: [Subject],
        _ broker: Broker
    ) async {
        let person = job.person
        let names = subjects.prefix(50).map(\.words).joined(separator: ", ")
        let begun = "\(LostJobs.start)\(subjects.count) in all: \(names)"
        await site.audit.note(job.auditedAct, by: person, begun)
        await withDiscardingTaskGroup { group in
            group.addTask { await signal(job) }
            await job.run(subjects) {
                await site.audit.keep(job.auditedAct, by: person, job.progressNote)
            } act: {
                try await command.act(on: $0, broker, person)
            }
            group.cancelAll()
        }
        await site.audit.note(job.auditedAct, by: person, job.summary(of: job.now))
        job.finish()
    }

    /// Shows other processes that the job goes on, also while one act takes long.
    private func signal(_ job: Job) async {
        while true {
            do { try await site.options.clock.sleep(for: LostJobs.signalInterval) } catch { return }
            await site.audit.keep(job.auditedAct, by: job.person, job.progressNote)
        }
    }
}
#endif
