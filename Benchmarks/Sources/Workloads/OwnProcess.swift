internal import Foundation

/// What the system knows of this process.
enum OwnProcess {
    /// Nanoseconds, by a clock that all processes of the machine share.
    static var now: Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// Seconds that all threads together have computed.
    static var processorTime: Double { Double(nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) / 1e9 }

    /// Bytes in memory.
    static func residentMemory() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let words = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }?.split { $0.isWhitespace }
        guard let words, words.count == 3, let kilobytes = Int(words[1]) else {
            throw WrongResult(description: "the system does not tell the memory of a process")
        }
        return kilobytes * 1_024
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
