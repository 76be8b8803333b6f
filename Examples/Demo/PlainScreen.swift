#if CommandLineTool
/// Lines one below the other, for files, pipes and terminals that cannot do more: what went wrong, the turns
/// of the story, and once a second how far things are.
struct PlainScreen: Screen {
    private var lastProgress: Duration?

    mutating func show(_ picture: Picture) {
        for entry in picture.news {
            guard let trouble = trouble(entry) else { continue }
            write("\(entry.message), attempt \(entry.attempt): \(trouble)", at: picture.elapsed)
        }
        if let lastProgress, picture.elapsed - lastProgress < .seconds(1) { return }
        lastProgress = picture.elapsed
        write(progress(picture), at: picture.elapsed)
    }

    func tell(_ text: String, at time: Duration) {
        write("** \(text)", at: time)
    }

    func close(_ lines: [String]) {
        Output.write(lines.map { "\($0)\n" }.joined())
    }

    /// What is worth a line: not a plain delivery, which is counted, nor each attempt of an outage.
    private func trouble(_ entry: LogEntry) -> String? {
        switch entry.event {
        case .delivered where entry.isAnswerLost: "delivered, but the answer is lost"
        case .recognised where entry.isAnswerLost:
            "a duplicate, recognised by its key, but the answer is lost"
        case .delivered, .unreachable: nil
        case .recognised: "a duplicate, recognised by its key"
        case .refused: "refused, the server is busy"
        case .lost: "lost on the way"
        }
    }

    private func progress(_ picture: Picture) -> String {
        var (sending, retrying, waiting, done) = (0, 0, 0, 0)
        for lane in picture.lanes {
            switch lane.activity {
            case .sending: sending += 1
            case .waitingForRetry: retrying += 1
            case .waiting: waiting += 1
            case .done: done += 1
            }
        }
        let parts = [
            (sending, "sending"), (retrying, "waiting for a retry"), (waiting, "waiting"), (done, "done"),
        ]
        let conversations = parts.filter { $0.0 > 0 }.map { "\($0) \($1)" }.joined(separator: ", ")
        return "\(picture.count(.delivered)) of \(picture.total) delivered; conversations: \(conversations)"
    }

    private func write(_ text: String, at time: Duration) {
        Output.write("\(time.inSeconds.rightAligned(to: 7))  \(text)\n")
    }
}
#endif
