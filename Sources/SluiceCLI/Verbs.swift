#if CommandLineTool
internal import ArgumentParser

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Suggestions for unknown verbs and options.
enum Verbs {
    /// Words of other tools, and of other parts of this one.
    private static let synonyms: [String: String] = [
        "list": "'queues' or 'actions'", "ls": "'queues' or 'actions'", "status": "'queues' or 'doctor'",
        "add": "'enqueue'", "push": "'enqueue'", "put": "'enqueue'", "send": "'enqueue'",
        "insert": "'enqueue'",
        "pop": "'run', 'drain' or 'skip'", "work": "'run' or 'drain'", "start": "'run' or 'resume'",
        "stop": "'pause'", "cancel": "'remove'", "delete": "'remove'", "rm": "'remove'",
        "clear": "'remove'", "purge": "'dead purge' or 'remove'", "requeue": "'dead requeue' or 'retry'",
        "unhold": "'resume'", "unpause": "'resume'", "continue": "'resume'", "restart": "'retry' or 'resume'",
        "peek": "'show'",
        "info": "'show' or 'doctor'",
        "check": "'doctor'", "dump": "'export'", "load": "'import'", "copy": "'backup'", "mv": "'move'",
        "top": "'watch'", "version": "'--version'",
    ]

    /// Words of other tools for the verbs of a verb.
    private static let innerSynonyms: [String: [String: String]] = [
        "dead": [
            "remove": "purge", "delete": "purge", "rm": "purge", "clear": "purge", "retry": "requeue",
            "restore": "requeue", "run": "requeue", "ls": "list", "queues": "list", "actions": "list",
            "info": "show", "peek": "show",
        ],
        "gate": [
            "shut": "close", "lock": "close", "stop": "close", "hold": "close", "unlock": "open",
            "start": "open", "resume": "open", "ls": "list", "show": "list", "status": "list",
        ],
    ]

    /// Options of other tools, without their dashes; no verb has one of these names.
    private static let options: [String: String] = [
        "j": "--concurrency", "P": "--concurrency", "jobs": "--concurrency", "workers": "--concurrency",
        "parallel": "--concurrency", "max-procs": "--concurrency", "retries": "--max-attempts",
        "tries": "--max-attempts", "delay": "--retry-delay or, for an action, --at", "in": "--at",
        "after": "--at", "db": "--file", "database": "--file", "name": "--queue",
        "q": "--queue", "command": "--exec", "body": "--payload", "data": "--payload",
    ]

    /// Returns what to say besides the parser's message if one of the arguments is such an option.
    static func adviceOnOption(among arguments: some Sequence<String>) -> String? {
        for argument in arguments.prefix(while: { $0 != "--" }) {
            guard let name = argument.wholeMatch(of: /--?([A-Za-z-]+)(=.*)?/)?.1 else { continue }
            if let option = options[String(name)] {
                return "\(argument.prefix { $0 != "=" }) is here \(option)"
            }
        }
        return nil
    }

    /// Returns what to say besides the parser's message if one of the arguments is the file that it misses.
    static func adviceOnFile(_ message: String, among arguments: some Sequence<String>) -> String? {
        guard message.contains("give one of --file and --postgres") else { return nil }
        let path = arguments.dropFirst().first { !$0.hasPrefix("-") && access($0, F_OK) == 0 }
        return path.map { "\(Visible.text($0)) is given as --file \(Visible.text($0))" }
    }

    /// Returns what to say besides the parser's message about a queue that is not given as its verb takes it.
    static func adviceOnQueue(_ message: String, among arguments: [String]) -> String? {
        let (command, words) = command(named: arguments)
        guard !words.isEmpty else { return nil }
        let verb = words.joined(separator: " ")
        let help = SluiceCommand.helpMessage(for: command)
        let hasOption = help.contains("\n  --queue <")
        let argument = help.firstMatch(of: #/\nARGUMENTS:\n  <([^>]+)>/#)?.1
        let isArgument = argument?.contains(#/queue|pattern/#) == true
        if !hasOption, isArgument, let queue = value(of: ["--queue"], in: arguments), !queue.isEmpty {
            return "the queue is given as the argument here: `sluice \(verb) '\(Visible.text(queue))'`"
        }
        let word = arguments.first { message.contains("'\($0)' is no number as the tool shows it") }
        if message.contains("nexpected argument") || word != nil, hasOption || isArgument {
            return isArgument
                ? "it takes one queue, or a prefix that ends in /*" : "queues are given with --queue here"
        }
        guard let word, Int(word) == nil, argument == "id" else { return nil }
        let list = words.first == "dead" ? "dead list" : "actions"
        return "it takes numbers; `sluice \(list) --queue '\(Visible.text(word))'` lists them"
    }

    /// Returns the command that arguments begin with, and its names.
    private static func command(
        named arguments: [String]
    ) -> (command: any ParsableCommand.Type, names: [String]) {
        var (command, names): (any ParsableCommand.Type, [String]) = (SluiceCommand.self, [])
        for word in arguments {
            let next = command.configuration.subcommands.first { $0._commandName == word }
            guard let next else { break }
            command = next
            names.append(word)
        }
        return (command, names)
    }

    /// Returns the value of an option; empty if the last word is its name.
    static func value(of names: [String], in words: [String]) -> String? {
        for (word, next) in zip(words, words.dropFirst() + [""]) {
            if names.contains(word) { return next }
            for name in names where word.hasPrefix(name + "=") && name.hasPrefix("--") {
                return String(word.dropFirst(name.count + 1))
            }
        }
        return nil
    }

    /// Returns the word that stands where a verb with verbs of its own, such as `dead`, expects one of them.
    static func innerVerb(in words: some Sequence<String>) -> String? {
        var isValue = false
        for word in words {
            if isValue {
                isValue = false
            } else if ["--file", "-f", "--postgres", "--schema"].contains(word) {
                isValue = true
            } else {
                return word.hasPrefix("-") ? nil : word
            }
        }
        return nil
    }

    /// Returns the similar verb of a verb, in quotes; `nil` if none is similar.
    static func meant(by word: String, among verbs: [String], of verb: String) -> String? {
        if let synonym = innerSynonyms[verb]?[word.lowercased()] { return "'\(verb) \(synonym)'" }
        guard let near = nearest(to: word, among: verbs) else { return nil }
        return "'\(verb) \(near)'"
    }

    /// Returns the similar verbs, in quotes; `nil` if none is similar.
    static func meant(by word: String, among verbs: [String]) -> String? {
        if let synonym = synonyms[word.lowercased()] { return synonym }
        return nearest(to: word, among: verbs).map { "'\($0)'" }
    }

    private static func nearest(to word: String, among verbs: [String]) -> String? {
        let near = verbs.map { (verb: $0, distance: distance(word.lowercased(), $0)) }
            .min { $0.distance < $1.distance }
        guard let near, near.distance <= max(near.verb.count / 3, 1) else { return nil }
        return near.verb
    }

    /// Returns how many letters must be changed, added or left out.
    static func distance(_ first: String, _ second: String) -> Int {
        let second = Array(second)
        var row = Array(0...second.count)
        for (index, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (place, other) in second.enumerated() {
                let next = min(diagonal + (letter == other ? 0 : 1), row[place] + 1, row[place + 1] + 1)
                (diagonal, row[place + 1]) = (row[place + 1], next)
            }
        }
        return row[second.count]
    }
}
#endif
