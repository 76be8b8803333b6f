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

/// The standard input of a handler process.
final class CommandInput: Sendable {
    /// How often a blocked write checks whether to give up, in milliseconds.
    private static let interval: Int32 = 100

    /// The end that the process reads from; the caller closes it after the start.
    let reading: FileDescriptor
    private let writing: FileDescriptor
    private let isStopped = Atomic(false)
    /// A separate thread, since a process that does not read would block a thread of the tasks.
    private let queue = DispatchQueue(label: "sluice.input")

    init() throws(StartFailure) {
        (reading, writing) = try CommandPipe.make()
        _ = fcntl(writing.rawValue, F_SETFL, O_NONBLOCK)
    }

    /// Writes a text, or a part of it if the process stops reading or ends.
    func write(_ text: String) async {
        await onQueue { input in input.writeAll(Array(text.utf8)) }
    }

    /// Closes the input after all pending writes.
    func finish() async {
        await onQueue { input in try? input.writing.close() }
    }

    /// Makes pending writes give up.
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
                    // The end of the process's output will show that it does not read any more.
                    return
                }
            }
        }
    }
}
#endif
