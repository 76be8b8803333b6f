#if CommandLineTool
internal import Dispatch
internal import Synchronization
internal import SystemPackage

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The standard input of a handler process, which gets lines as long as it lives.
final class CommandInput: Sendable {
    /// How often a write asks whether to give up while the process does not read, in milliseconds.
    private static let interval: Int32 = 100

    /// Where the process reads from; the caller closes it when the process has it.
    let reading: FileDescriptor
    private let writing: FileDescriptor
    private let isStopped = Atomic(false)
    /// Not a thread of the tasks': a process that does not read would keep it.
    private let queue = DispatchQueue(label: "sluice.input")

    init() throws(StartFailure) {
        (reading, writing) = try CommandPipe.make()
        _ = fcntl(writing.rawValue, F_SETFL, O_NONBLOCK)
    }

    /// Writes all of a text; less only if the process reads no more, or has ended.
    func write(_ text: String) async {
        await onQueue { input in input.writeAll(Array(text.utf8)) }
    }

    /// Ends it behind what has been written.
    func finish() async {
        await onQueue { input in try? input.writing.close() }
    }

    /// Whoever writes gives up.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    private func onQueue(_ work: @escaping @Sendable (CommandInput) -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                work(self)
                continuation.resume()
            }
        }
    }

    private func writeAll(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty, !isStopped.load(ordering: .relaxed) {
                do {
                    rest = rest.dropFirst(try writing.write(UnsafeRawBufferPointer(rebasing: rest)))
                } catch Errno.wouldBlock {
                    var wish = pollfd(fd: writing.rawValue, events: Int16(POLLOUT), revents: 0)
                    poll(&wish, 1, Self.interval)
                } catch {
                    // A process that does not read any more is noticed by the end of its output.
                    return
                }
            }
        }
    }
}
#endif
