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
        guard let asked else { throw Self.isNotOpen }
        let form = try asked.form(answeredBy: visit.form)
        if EnqueueForm.isAsked(by: form) {
            let (new, payload) = (try EnqueueForm(form), try form.payload())
            guard site.sessions.answer(token, visit.session.id) else { throw Self.isNotOpen }
            return try await perform(new.sentence, new.place, visit) {
                try await new.perform(payload, site.broker)
            }
        }
        let act = try ActForm(form)
        guard site.sessions.answer(token, visit.session.id) else { throw Self.isNotOpen }
        guard asked.subjects.count == 1 else { return await start(act, asked.subjects, visit) }
        let subject = asked.subjects[0]
        return try await perform(try await act.sentence(of: subject, site.broker), act.place, visit) {
            try await act.perform(on: subject, site.broker, visit.person)
        }
    }

    private static let isNotOpen = PageError(
        .conflict,
        "this question is not open: the audit says whether it has been answered; if not, ask again"
    )

    /// Does one thing, writes it to the audit log and shows it on the next page.
    private func perform(
        _ sentence: String,
        _ place: (path: String, query: Form),
        _ visit: Visit,
        _ body: () async throws -> String
    ) async throws -> String {
        let result: String
        do {
            result = try await body()
        } catch {
            await site.audit.note(sentence, by: visit.person, "failed: \(error)")
            throw error
        }
        await site.audit.note(sentence, by: visit.person, result)
        site.sessions.setNotice("\(sentence): \(result).", visit.session.id)
        return visit.link(place.path, place.query)
    }

    private func start(_ act: ActForm, _ subjects: [Subject], _ visit: Visit) async -> String {
        let (site, person) = (site, visit.person)
        // That of the question: after the file was replaced, its numbers mean others.
        let broker = site.broker
        let place = act.place
        let fields = place.query.encoded
        let caller = Caller.current
        let job = site.jobs.start(
            act.sentence,
            by: person,
            total: subjects.count,
            place: place.path + (fields.isEmpty ? "" : "?\(fields)")
        ) { job in
            await Caller.$current.withValue(caller) { await run(job, act, subjects, broker) }
        }
        return visit.link("/job", "id", job.id)
    }

    private func run(
        _ job: Job,
        _ act: ActForm,
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
                try await act.perform(on: $0, broker, person)
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
