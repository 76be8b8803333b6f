#if CommandLineTool
/// A handler for `sluice run --pipe`, in Python.
///
/// `body` sees each request as `r`, and can call `say(object)` to answer, `note(text)` to write a line to the
/// file `log`, and `requests()` for further ones.
enum HandlerScript {
    static func text(log: String, _ body: String) -> String {
        let indented = body.split(separator: "\n", omittingEmptySubsequences: false)
            .map { "    " + $0 }.joined(separator: "\n")
        return """
            import json, os, sys
            log = os.open(\(quoted(log)), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            def note(text): os.write(log, (text + "\\n").encode())
            def say(answer): os.write(1, (json.dumps(answer) + "\\n").encode())
            def requests():
                while True:
                    line = sys.stdin.readline()
                    if not line: return
                    yield json.loads(line)
            for r in requests():
            \(indented)
            note("end of input")

            """
    }

    private static func quoted(_ text: String) -> String { "\"\(text)\"" }
}
#endif
