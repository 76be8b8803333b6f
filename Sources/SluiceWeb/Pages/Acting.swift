#if Web
internal import Foundation
internal import Sluice

/// Does the acts that operators have confirmed.
struct Acting {
    let site: OperatorPage

    /// Does one, or begins a job, and returns where the browser goes next.
    func perform(_ visit: Visit) async throws -> String {
        try visit.checkRole()
        let command = try Command(visit.form)
        let token = visit.form["question"]
        guard let question = site.questions.answer(token, command.verb, visit.session.id) else {
            throw PageError(
                .conflict,
                "this has been answered already, or was asked before the page was started: see the audit"
            )
        }
        let subjects = question.subjects
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
        let place = command.place
        let fields = place.query.encoded
        let job = site.jobs.start(
            command.sentence,
            by: person,
            total: subjects.count,
            place: place.path + (fields.isEmpty ? "" : "?\(fields)")
        ) { job in
            await job.run(subjects) { try await command.act(on: $0, site.broker, person) }
            await site.audit.note("\(command.sentence), job \(job.id)", by: person, job.summary)
        }
        let names = subjects.prefix(50).map(\.words).joined(separator: ", ")
        let begun = "begun, \(subjects.count) in all: \(names)"
        await site.audit.note("\(command.sentence), job \(job.id)", by: person, begun)
        return visit.link("/job", "id", job.id)
    }
}
#endif
