#if Web
internal import Foundation
internal import Sluice

/// Does the acts that operators have confirmed.
struct Acting {
    let site: OperatorPage

    /// Does one, and returns where the browser goes next.
    func perform(_ visit: Visit) async throws -> String {
        try visit.checkRole()
        let command = try Command(visit.form)
        switch command.subjects {
        case .queues(let queues) where queues.count > 1: return start(command, queues, visit)
        case .matchingQueues(let filter): return start(command, site.board.names(filter), visit)
        case .letters(let letters) where letters.count > 1: return start(command, letters, visit)
        case .matchingLetters(let filter):
            return start(command, try await filter.letters(site.broker), visit)
        default: return try await performOne(command, visit)
        }
    }

    private func performOne(_ command: Command, _ visit: Visit) async throws -> String {
        let result: String
        do {
            result =
                switch command.subjects {
                case .queues(let queues): try await command.act(on: queues[0], site.broker, visit.person)
                case .letters(let letters): try await command.act(on: letters[0], site.broker)
                default: try await command.act(site.broker, visit.person)
                }
        } catch {
            site.audit.note(command.sentence, by: visit.person, "failed: \(error)")
            throw error
        }
        site.audit.note(command.sentence, by: visit.person, result)
        site.sessions.setNotice("\(command.sentence): \(result).", visit.session.id)
        let place = command.place
        return visit.link(place.path, place.query)
    }

    private func start(_ command: Command, _ queues: [QueueName], _ visit: Visit) -> String {
        let (site, person) = (site, visit.person)
        return start(command, total: queues.count, visit) { job in
            await job.run(queues, name: \.rawValue) { try await command.act(on: $0, site.broker, person) }
        }
    }

    private func start(_ command: Command, _ letters: [ActionID], _ visit: Visit) -> String {
        let site = site
        return start(command, total: letters.count, visit) { job in
            await job.run(letters, name: { "dead letter \($0)" }) { letter in
                try await command.act(on: letter, site.broker)
            }
        }
    }

    private func start(
        _ command: Command,
        total: Int,
        _ visit: Visit,
        _ work: @escaping @Sendable (Job) async -> Void
    ) -> String {
        let (audit, person) = (site.audit, visit.person)
        let job = site.jobs.start(command.sentence, by: person, total: total) { job in
            await work(job)
            audit.note("\(command.sentence), job \(job.id)", by: person, job.summary)
        }
        audit.note("\(command.sentence), job \(job.id)", by: person, "begun, \(total) in all")
        return visit.link("/job", "id", job.id)
    }
}
#endif
