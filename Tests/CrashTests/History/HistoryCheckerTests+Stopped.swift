#if CommandLineTool
import TestSupport
import Testing

/// Processes that were stopped.
extension HistoryCheckerTests {
    /// What is found when A stands still in its run from 31 to 131, and B runs the line from 100 on.
    private func taken(_ takeover: Int64?, _ change: (inout History) -> Void = { _ in }) -> [String] {
        found(takeover: takeover) { history in
            history.freezes = [.init(process: "A", from: 31, to: 131)]
            history.runs[1] = run("A", 1, 30, 135, "success")
            history.runs[2] = run("B", 1, 100, 110, "success")
            history.runs.append(run("B", 2, 120, 125, "success"))
            change(&history)
        }
    }

    @Test("A process that stood still for longer than its lease has lost its queues, and settles nothing")
    func fencing() {
        expect(in: taken(60))
        expect("overlap", in: taken(70))
        expect("overlap", in: taken(nil))
        // What A says settles nothing: without B's success the line is lost.
        expect("inversion", in: taken(60) { $0.runs[2].outcome = "retry" })
        // It may have stood still behind the end, before it was settled.
        let late = taken(60) { history in
            history.runs[1].end = 31
            history.freezes[0].from = 32
        }
        expect(in: late)
        expect(
            "repeats",
            in: taken(69) { history in
                history.runs[1].end = 31
                history.freezes[0].from = 32
            }
        )
        // Nor does it excuse two handlers in A itself.
        expect("overlap", in: taken(60) { $0.runs[4].process = "A" })
    }

    @Test("A lease that was renewed late is over earlier, for a process that goes on as another")
    func lateRenewal() {
        func taken(_ takeover: Int64, epoch: Int64) -> [String] {
            self.taken(takeover) { $0.runs[3] = run("A", 3, 140, 150, "success", epoch: epoch) }
        }
        expect(in: taken(70, epoch: 1))
        expect("overlap", in: taken(70, epoch: 0))
        expect("overlap", in: taken(140, epoch: 1))
    }

    @Test("A lease ends too while its process stands still in parts, or its server is down")
    func inParts() {
        func taken(
            _ stops: [ClosedRange<Int64>],
            down outages: [ClosedRange<Int64>] = [],
            epoch: Int64 = 1
        ) -> [String] {
            func times(_ ranges: [ClosedRange<Int64>], of process: String) -> [History.Freeze] {
                ranges.map { .init(process: process, from: $0.lowerBound, to: $0.upperBound) }
            }
            return self.taken(100) { history in
                history.freezes = times(stops, of: "A")
                history.outages = times(outages, of: "")
                history.runs[3] = run("A", 3, 140, 150, "success", epoch: epoch)
            }
        }
        expect(in: taken([31...60, 70...104]))
        expect("overlap", in: taken([31...60, 70...104], epoch: 0))
        expect("overlap", in: taken([31...50, 80...104]))
        // What is in two at once counts once.
        expect(in: taken([31...40, 94...104], down: [40...80]))
        expect("overlap", in: taken([31...60, 94...104], down: [40...70]))
    }

    @Test("A run that was claimed before its process stood still may begin behind that, and no other one")
    func heldUp() {
        func held(_ change: (inout History) -> Void = { _ in }) -> [String] {
            taken(60) { history in
                history.runs[1] = run("A", 1, 132, 135, "success")
                history.runs[2].end = 133
                history.runs[4] = run("B", 2, 140, 145, "success")
                change(&history)
            }
        }
        expect(in: held())
        // It has begun anew since.
        expect("overlap", in: held { $0.runs[1].claim = 1 << 32 })
        let late: Int64 = 1_000_000_000 + 132
        expect(
            "overlap",
            in: held { history in
                history.runs[1] = run("A", 1, late, late + 5, "success")
                history.runs[2].end = late + 1
                history.runs[4] = run("B", 2, late + 10, late + 11, "success")
            }
        )
    }
}
#endif
