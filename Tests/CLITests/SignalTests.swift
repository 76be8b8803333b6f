#if CommandLineTool
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import SluiceCLI

@Suite("Signals", .watched(minutes: 1))
struct SignalTests {
    /// Signals that do not end a process by default.
    @Test("A signal that comes as soon as it is asked for is not lost", arguments: [SIGURG, SIGWINCH])
    func atOnce(number: Int32) async {
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let source = Signals.source(of: number, .global()) { signal.yield() }
        kill(getpid(), number)
        var received = signals.makeAsyncIterator()
        #expect(await received.next() != nil)
        source.cancel()
    }
}
#endif
