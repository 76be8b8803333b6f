#if CommandLineTool
internal import ArgumentParser
internal import Sluice

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The option that every verb takes.
struct FileOption: ParsableArguments {
    @Option(
        name: [.customShort("f"), .customLong("file")],
        help: ArgumentHelp("The file of queues.", valueName: "path"),
        completion: .file()
    )
    var path: String

    func validate() throws {
        if path.isEmpty { throw ValidationError("--file is empty; give the path of a file") }
    }

    /// Opens the file, and creates it when it is missing.
    func open(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        try await Broker(file: path, options: options)
    }

    /// Opens the file to enqueue, and creates it when it is missing.
    func openToEnqueue() async throws -> Broker {
        var options = BrokerOptions()
        options.role = .enqueueOnly
        return try await open(options)
    }

    /// Opens the file for a look, which makes nothing: neither a file nor tables in somebody else's.
    func openExisting(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        try check()
        var options = options
        options.makesMissing = false
        return try await open(options)
    }

    /// Throws when there is no such file.
    func check() throws(Failure) {
        if access(path, F_OK) != 0 && errno == ENOENT {
            throw Failure(
                .cannotOpen,
                "there is no file \(path): check --file; only enqueue, run, drain and import make one"
            )
        }
    }
}
#endif
