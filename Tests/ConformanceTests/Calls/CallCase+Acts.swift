import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Calls on one action, in each situation that it can be in, twice.
extension CallCase {
    private struct Target {
        let id: ActionID
        let queue: QueueName
    }

    private static let actsOnActions: [CallOn<Target>] = [
        .init("action(_:)") { site, target in try await site.broker.action(target.id) },
        .init("cancel(_:)") { site, target in try await site.broker.cancel(target.id) },
        .init("cancel(actions:)") { site, target in
            try await site.broker.cancel(actions: [target.id, target.id])
        },
        .init("cancel(queues:)") { site, target in
            try await site.broker.cancel(queues: QueuePattern(target.queue.rawValue))
        },
        .init("deadLetter(_:)") { site, target in try await site.broker.deadLetter(target.id) as Any },
        .init("edit(_:payload:replacing:ifRunning:)") { site, target in
            try await site.broker.edit(
                target.id,
                payload: #"{"text":"edited"}"#,
                replacing: nil,
                ifRunning: .forNextAttempt
            )
        },
        .init("edit(_:payload:replacing:ifRunning:)", "unless it runs") { site, target in
            try await site.broker.edit(
                target.id,
                payload: #"{"text":"edited"}"#,
                replacing: nil,
                ifRunning: .refuse
            )
        },
        .init("edit(_:payload:replacing:ifRunning:)", "of another payload") { site, target in
            let old = #"{"text":"other"}"#
            return try await site.broker.edit(
                target.id,
                payload: #"{"text":"edited"}"#,
                replacing: old,
                ifRunning: .forNextAttempt
            )
        },
        .init("edit(_:payload:replacing:ifRunning:)", "to what is not JSON") { site, target in
            try await site.broker.edit(target.id, payload: "{", replacing: nil, ifRunning: .forNextAttempt)
        },
        .init("edit(_:to:ifRunning:)") { site, target in
            try await site.broker.edit(
                target.id,
                to: Note("edited", in: target.queue),
                ifRunning: .forNextAttempt
            )
        },
        .init("failedAttempts(of:)") { site, target in try await site.broker.failedAttempts(of: target.id) },
        .init("move(_:to:)") { site, target in try await site.broker.move(target.id, to: "elsewhere") },
        .init("move(_:to:)", "to its own queue") { site, target in
            try await site.broker.move(target.id, to: target.queue)
        },
        .init("move(_:to:)", "to no name") { site, target in try await site.broker.move(target.id, to: "") },
        .init("moveToFront(_:)") { site, target in try await site.broker.moveToFront(target.id) },
        .init("purge(_:)") { site, target in try await site.broker.purge(target.id) },
        .init("requeue(_:)") { site, target in try await site.broker.requeue(target.id) },
        .init("requeueAtEnd(_:)") { site, target in try await site.broker.requeueAtEnd(target.id) as Any },
        .init("reschedule(_:notBefore:)") { site, target in
            try await site.broker.reschedule(target.id, notBefore: site.clock.date + 60)
        },
        .init("reschedule(_:notBefore:)", "to now") { site, target in
            try await site.broker.reschedule(target.id, notBefore: nil)
        },
        .init("reschedule(_:notBefore:)", "to the past") { site, target in
            try await site.broker.reschedule(target.id, notBefore: site.clock.date - 60)
        },
        .init("reschedule(_:notBefore:)", "to the end of time") { site, target in
            try await site.broker.reschedule(target.id, notBefore: .distantFuture)
        },
        .init("retryNow(_:)") { site, target in
            try await site.broker.retryNow(QueuePattern(target.queue.rawValue))
        },
        .init("setExpiry(_:of:)") { site, target in
            try await site.broker.setExpiry(site.clock.date + 60, of: target.id)
        },
        .init("setExpiry(_:of:)", "to none") { site, target in
            try await site.broker.setExpiry(nil, of: target.id)
        },
        .init("setTag(_:of:)") { site, target in try await site.broker.setTag("t", of: target.id) },
        .init("setTag(_:of:)", "to none") { site, target in try await site.broker.setTag(nil, of: target.id)
        },
        .init("skipHead(of:only:reason:)") { site, target in
            try await site.broker.skipHead(of: target.queue, only: target.id, reason: "in the way")
        },
        .init("skipHead(of:only:reason:)", "whichever it is") { site, target in
            try await site.broker.skipHead(of: target.queue, only: nil, reason: nil)
        },
    ]

    static let acts: [CallCase] = actsOnActions.flatMap { act in
        ActionSituation.allCases.map { situation in
            let words = [situation.rawValue, act.words].filter { !$0.isEmpty }.joined(separator: ", ")
            return CallCase(act.call, words) { site in
                let id = try await situation.prepare(site)
                for time in ["once", "twice"] {
                    await site.note(time) { try await act.body(site, Target(id: id, queue: situation.queue)) }
                    try await site.settle(besides: situation == .running ? "q" : nil)
                }
                await site.note("action") { try await site.broker.action(id) }
                site.go.send()
                try await site.settle()
                await site.note("status") { try await site.broker.status(of: situation.queue) }
                await site.note("elsewhere") { try await site.broker.status(of: "elsewhere") }
                await site.note("dead letter") { try await site.broker.deadLetter(id) as Any }
                await site.note("count") { try await site.broker.actionCount() }
            }
        }
    }
}
