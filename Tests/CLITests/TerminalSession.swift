#if CommandLineTool
import Foundation
import Subprocess
import SystemPackage
import Testing

/// A terminal with a command in it: tmux shows it, and tells when something on it has changed.
final class TerminalSession {
    private let socket: String
    private let output: FileDescriptor
    private let changes: AsyncStream<Void>
    /// Kept, as a source that is dropped is silent.
    private let source: any DispatchSourceRead

    /// Starts a command of the shell.
    init(_ place: Workplace, columns: Int, rows: Int, _ command: String) async throws {
        socket = place.path(of: "tmux")
        let pipe = try place.makePipe("screen")
        // For both directions: with a reader that stays, no write of tmux's finds nobody.
        output = try FileDescriptor.open(FilePath(pipe), .readWrite, options: [.closeOnExec, .nonBlocking])
        let (changes, continuation) = AsyncStream.makeStream(
            of: Void.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        self.changes = changes
        source = DispatchSource.makeReadSource(fileDescriptor: output.rawValue)
        source.setEventHandler { [output] in
            let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
                (try? output.read(into: buffer)) ?? 0
            }
            if count > 0 { continuation.yield() }
        }
        source.setCancelHandler { [output] in try? output.close() }
        source.activate()
        try await tmux("-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", command)
        try await tmux("pipe-pane", "cat > '\(pipe)'")
    }

    deinit { source.cancel() }

    /// What the screen shows.
    func screen(withStyles: Bool = false) async throws -> String {
        try await tmux("capture-pane", withStyles ? "-pe" : "-p")
    }

    /// Waits until the screen is as it should be.
    @discardableResult
    func wait(until isExpected: (String) -> Bool) async throws -> String {
        var screen = try await screen()
        var iterator = changes.makeAsyncIterator()
        while !isExpected(screen) {
            _ = await iterator.next()
            try Task.checkCancellation()
            screen = try await self.screen()
        }
        return screen
    }

    /// Waits until the screen shows a text.
    @discardableResult
    func wait(for text: String) async throws -> String {
        try await wait { $0.contains(text) }
    }

    /// Presses keys, by the names that tmux has for them.
    func press(_ keys: String...) async throws {
        for key in keys { try await tmux("send-keys", key) }
    }

    func resize(columns: Int, rows: Int) async throws {
        try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    /// What tmux knows of the terminal, as in `#{alternate_on}`.
    func fact(_ format: String) async throws -> String {
        try await tmux("display-message", "-p", format).trimmingCharacters(in: .newlines)
    }

    /// Ends it and what runs in it.
    func end() async throws { try await tmux("kill-server") }

    @discardableResult
    private func tmux(_ arguments: String...) async throws -> String {
        let result = try await Tool.launch("tmux", ["-u", "-S", socket] + arguments)
        try #require(result.status == .exited(0), "\(arguments) \(result)")
        return result.output
    }
}
#endif
