#if CommandLineTool
import TestSupport
import Testing

/// The checker finds each breach in histories that were made up for that.
@Suite("The checker of histories", .watched) struct HistoryCheckerTests {
    /// Lines 1 and 2 of one queue, 3 of another, as they should run; process B takes over from A.
    private var sound: History {
        var history = History()
        history.lines = ["a": [1, 2], "b": [3]]
        history.enqueues = (1...3).map { History.Enqueue(line: $0, id: Int64($0) + 10, time: 0) }
        history.runs = [
            run("A", 1, 10, 20, "retry"), run("A", 1, 30, 40, "success"), run("B", 2, 50, 60, "success"),
            run("A", 3, 15, 55, "success"),
        ]
        return history
    }

    /// A run; what stands for its number in its process is its start.
    func run(
        _ process: String,
        _ line: Int,
        _ start: Int64,
        _ end: Int64?,
        _ outcome: String?,
        epoch: Int64 = 0
    ) -> History.Run {
        History.Run(
            process: process,
            number: Int(start),
            queue: line == 3 ? "b" : "a",
            line: line,
            id: Int64(line) + 10,
            claim: epoch << 32 + start,
            start: start,
            end: end,
            outcome: outcome
        )
    }

    /// What is found when the sound history is changed.
    func found(takeover: Int64? = nil, _ change: (inout History) -> Void) -> [String] {
        var history = sound
        change(&history)
        return HistoryChecker.violations(of: history, takeover: takeover)
    }

    func expect(_ words: String..., in found: [String], at place: SourceLocation = #_sourceLocation) {
        for word in words {
            #expect(found.contains { $0.contains(word) }, "\(found)", sourceLocation: place)
        }
        if words.isEmpty { #expect(found == [], sourceLocation: place) }
    }

    @Test("A sound history is passed, with kills and repetitions that they excuse")
    func passes() {
        expect(in: found { _ in })
        expect(
            in: found { history in
                // A dies in its run, and B runs the line again.
                history.runs[1] = run("A", 1, 30, nil, nil)
                history.kills["A"] = 56
                history.runs[2] = run("B", 1, 57, 58, "success")
                history.runs.append(run("B", 2, 60, 70, "success"))
            }
        )
        expect(
            in: found { history in
                // A dies behind its success and before that is settled.
                history.kills["A"] = 56
                history.runs[2] = run("B", 1, 57, 58, "success")
                history.runs.append(run("B", 2, 60, 70, "success"))
            }
        )
    }

    @Test("Being cut off excuses an overlap of who waits for the server in a transaction, and of no other")
    func cutOff() {
        func found(_ change: (inout History) -> Void) -> [String] {
            self.found(takeover: 100) { history in
                history.runs[1].end = 160
                history.cuts = [.init(process: "A", from: 31, to: 150)]
                history.runs[2].start = 140
                history.runs[2].end = 145
                history.runs[1].outcome = "stale"
                history.runs.append(run("B", 1, 132, 135, "success"))
                change(&history)
            }
        }
        expect("overlap", in: found { _ in })
        expect(
            in: found { history in
                history.linesWithEffect = [1]
                history.effects = [.init(line: 1, process: "B", run: 132)]
            }
        )
        expect(
            "overlap",
            in: found { history in
                history.linesWithEffect = [1]
                history.effects = [.init(line: 1, process: "B", run: 132)]
                history.cuts[0].from = 60
            }
        )
    }

    @Test("An overlap is found, in one process, in two, and with a run that a kill has ended")
    func overlap() {
        expect("overlap", in: found { $0.runs[1].start = 19 })
        expect("overlap", in: found { $0.runs[2].start = 39 })
        expect(
            "overlap",
            in: found { history in
                history.runs[1] = run("A", 1, 30, nil, nil)
                history.kills["A"] = 50
                history.runs[2] = run("B", 1, 49, 52, "success")
                history.runs.append(run("B", 2, 60, 70, "success"))
            }
        )
        // Not with the one right before.
        expect(
            "overlap",
            in: found { history in
                history.runs[1].end = 62
                history.runs[2] = run("B", 2, 50, 55, "success")
                history.runs.append(run("B", 2, 61, 63, "success"))
            }
        )
    }

    @Test("A run without an end is found when nobody has killed its process")
    func endless() {
        expect("has no end", in: found { $0.runs[3] = run("A", 3, 15, nil, nil) })
    }

    @Test("An inversion is found: what sorts behind ran first, or did not wait for a retry")
    func inversion() {
        expect(
            "inversion",
            in: found { history in
                history.runs[0] = run("A", 2, 10, 20, "success")
                history.runs[2] = run("B", 1, 50, 60, "success")
            }
        )
        expect("inversion", in: found { $0.runs[1].outcome = "retry" })
    }

    @Test("A loss is found: a line that nobody ran, that never succeeded, or that no history has")
    func loss() {
        expect("loss: it has never run", in: found { $0.runs.removeLast() })
        expect("loss: 2 has never succeeded", in: found { $0.runs[2].outcome = "retry" })
        expect("loss: 2 has never succeeded", in: found { $0.runs.remove(at: 2) })
        expect("loss: nobody knows of it", in: found { $0.lines["a"] = [1, 2, 4] })
    }

    @Test("A repetition is found when the success had settled")
    func repetition() {
        expect("which had settled", in: found { $0.runs.append(run("B", 2, 70, 80, "success")) })
        expect(
            "which had settled",
            in: found { history in
                // It still wrote something down behind the repetition, so nothing had cut it by then.
                (history.kills["B"], history.lastSigns["B"]) = (55, 75)
                history.runs.append(run("C", 2, 70, 80, "success"))
            }
        )
        expect(
            in: found { history in
                // It was killed before its end was written, and died behind that.
                (history.kills["B"], history.lastSigns["B"]) = (55, 60)
                history.runs.append(run("C", 2, 70, 80, "success"))
            }
        )
        expect(
            "which had settled",
            in: found { history in
                // It came behind the repetition.
                history.kills["B"] = 90
                history.runs.append(run("C", 2, 70, 80, "success"))
            }
        )
        expect(
            "inversion",
            in: found { history in
                // The next one of the queue had run by then.
                history.kills["A"] = 65
                history.runs.append(run("C", 1, 70, 80, "success"))
            }
        )
    }

    @Test("A run of what was told to have succeeded is found, whatever became of its process")
    func successes() {
        func repeated(_ change: (inout History) -> Void) -> [String] {
            found(takeover: 100) { history in
                history.kills["B"] = 65
                history.runs.append(run("C", 2, 270, 280, "success"))
                change(&history)
            }
        }
        expect(in: repeated { _ in })
        expect("told to have succeeded", in: repeated { $0.successes[12] = 62 })
        // Who had claimed it before may begin it late.
        expect(
            in: repeated { history in
                history.successes[12] = 62
                history.freezes = [.init(process: "C", from: 45, to: 265)]
            }
        )
    }

    @Test("Numbers that do not fit, and lines that nobody has enqueued, are found")
    func numbers() {
        expect("is action 11 and action 99", in: found { $0.runs[0].id = 99 })
        expect("not of the input", in: found { $0.enqueues.append(.init(line: 9, id: 9, time: 0)) })
        expect("nobody has enqueued it", in: found { $0.runs[0].queue = "c" })
    }
}

// MARK: - What stands in the file

extension HistoryCheckerTests {
    /// What is found when lines 1 and 2 have effects.
    private func settled(takeover: Int64? = nil, _ change: (inout History) -> Void = { _ in }) -> [String] {
        found(takeover: takeover) { history in
            history.linesWithEffect = [1, 2]
            history.effects = [effect("A", 1, 30), effect("B", 2, 50)]
            change(&history)
        }
    }

    private func effect(_ process: String, _ line: Int, _ run: Int) -> History.Effect {
        History.Effect(line: line, process: process, run: run)
    }

    @Test("An effect that did not happen exactly once, or where there is to be none, is found")
    func effects() {
        expect(in: settled())
        expect("line 2: its effect happened 2 times", in: settled { $0.effects.append($0.effects[1]) })
        expect("line 2: its effect happened 0 times", in: settled { $0.effects.removeLast() })
        expect(
            "line 3: its effect happened 1 times, not 0",
            in: settled { $0.effects.append(effect("A", 3, 15)) }
        )
        // A process that stood still has no excuse.
        expect(
            "line 1: its effect happened 2 times",
            in: settled(takeover: 5) { history in
                history.freezes = [.init(process: "A", from: 31, to: 39)]
                history.effects.insert(effect("B", 1, 50), at: 1)
            }
        )
    }

    @Test("An effect of no run, of a run that asked for a retry, or behind that of the next line, is found")
    func effectsOfRuns() {
        expect("is of no run", in: settled { $0.effects[1] = effect("B", 2, 51) })
        expect("has had its effect", in: settled { $0.effects[0] = effect("A", 1, 10) })
        expect("the effect of line 1 came too late", in: settled { $0.effects.swapAt(0, 1) })
    }

    @Test("An effect settles its run whatever became of the process, and a success without one does not")
    func effectsDecide() {
        // Killed behind the commit of the application's own transaction.
        expect(
            in: settled { history in
                history.runs[1] = run("A", 1, 30, nil, nil)
                history.runs.remove(at: 3)
                history.lines["b"] = nil
                history.enqueues.removeLast()
                history.kills["A"] = 45
            }
        )
        expect(
            "inversion",
            in: settled { history in
                // A's success has not become an effect, and B goes on all the same.
                history.kills["A"] = 56
                history.effects[0] = effect("B", 1, 70)
                history.runs.append(run("B", 1, 70, 80, "success"))
            }
        )
        expect(
            "which had settled",
            in: settled { history in
                history.kills["B"] = 65
                history.runs.append(run("C", 2, 70, 80, "success"))
            }
        )
    }

    @Test("A message without its action, an action without its message, and a message of another are found")
    func messages() {
        func stored(_ messages: [Int: Int64]) -> [String] {
            found { history in
                history.linesWithMessage = [1, 3]
                history.messages = messages
            }
        }
        expect(in: stored([1: 11, 3: 13]))
        expect("line 3: its row is of none, and it ran as action 13", in: stored([1: 11]))
        expect("line 3: its row is of action 12, and it ran as action 13", in: stored([1: 11, 3: 12]))
        expect("line 2: its row is of action 12", in: stored([1: 11, 3: 13, 2: 12]))
        expect("line 4: its row is of action 14, and it ran as none", in: stored([1: 11, 3: 13, 4: 14]))
    }

    @Test("A history is read as the processes write it; a line that is not whole is refused")
    func reading() throws {
        let text = """
            e\t1\ta\t1
            E\t2\ta\t1\t11
            S\t3\ta\t1\t11\t1\t4294967297
            S\t4\tb\t3\t13\t2\t4294967298
            F\t5\ta\t1\t1\tretry

            """
        var history = History()
        try history.read(text, of: "0.1")
        #expect(history.enqueues == [.init(line: 1, id: 11, time: 2)])
        #expect(history.runs.count == 2 && history.runs[0].end == 5 && history.runs[0].outcome == "retry")
        #expect(history.runs[1].end == nil && history.runs[1].process == "0.1" && history.runs[1].epoch == 1)
        for bad in ["E\t2\ta\t1", "F\t5\ta\t1\t1\tretry", "S\t3\ta", "X\t1\ta\t1"] {
            #expect(throws: HistoryError.self) { try history.read(bad, of: "0.2") }
        }
    }
}
#endif
