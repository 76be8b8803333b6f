import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

/// Calls with one or two situations.
extension CallCase {
    static let brief: [CallCase] = [
        CallCase("enqueueBlocking(_:_:notBefore:)", "a queue's name and an empty one") { site in
            for queue in ["q", ""] as [QueueName] {
                await site.note("'\(queue)'") { try site.broker.enqueueBlocking(Note("a", in: queue)).id }
            }
            await site.note("actions") { try await site.broker.actionSummaries("*", limit: 10) }
        },
        CallCase("remainingWork()", "nothing, later, now, and without a route") { site in
            try site.route()
            await site.note("nothing") { try await site.broker.remainingWork() }
            try await site.broker.enqueue(Note("a", in: "q"), notBefore: site.clock.date + 60)
            await site.note("later") { try await site.broker.remainingWork() }
            try await site.broker.enqueue(Note("a", in: "q"))
            await site.note("now") { try await site.broker.remainingWork() }
            try site.broker.removeRoutes("*")
            await site.note("no route") { try await site.broker.remainingWork() }
        },
        CallCase("retryNow(queues:)", "of some that wait, and of others") { site in
            try site.route()
            for queue in ["a", "b"] as [QueueName] { try await site.broker.enqueue(Note("retry", in: queue)) }
            try await site.begin()
            try await until {
                try await site.broker.statuses(in: [.retry]).count == 2
            }
            await site.note("one") { try await site.broker.retryNow(queues: ["a", "a", "c"]) }
            try await site.settle()
            await site.note("none") { try await site.broker.retryNow(queues: []) }
        },
        CallCase("runNow(_:includingRetries:)", "without batches") { site in
            try await site.broker.enqueue(Note("a", in: "q"))
            await site.note("all") { try await site.broker.runNow() }
            await site.note("no pattern") { try await site.broker.runNow("a*") }
        },
        CallCase("statusUpdates(of:)", "of a queue, an unknown one and no name") { site in
            try await site.broker.enqueue(Note("a", in: "q"))
            for queue in ["q", "nobody", "", "q/*"] as [QueueName] {
                await site.note("'\(queue)'") {
                    var updates = site.broker.statusUpdates(of: queue).makeAsyncIterator()
                    return try await updates.next() as Any
                }
            }
        },
        CallCase("queue(_:of:)", "what its handle does") { site in
            let queue = site.broker.queue("q", of: Note.self)
            await site.note("add") { try await queue.add(Note("a", in: "q")).id }
            await site.note("count") { try await queue.count() }
            await site.note("peek") { try await queue.peek()?.action.text as Any }
            await site.note("contents") {
                var texts: [String] = []
                for try await action in queue.contents() { texts.append(action.action.text) }
                return texts
            }
            await site.note("removeNext") { try await queue.removeNext()?.action.text as Any }
        },
    ]
}
