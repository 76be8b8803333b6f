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

/// The `--file` option of every verb.
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

    /// Opens the file; a missing file is created.
    func open(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        try await Broker(file: path, options: options)
    }

    /// Opens the file to enqueue; a missing file is created.
    func openToEnqueue() async throws -> Broker {
        var options = BrokerOptions()
        options.file.role = .enqueueOnly
        return try await open(options)
    }

    /// Opens the file for reading; creates neither a file nor tables in another application's file.
    func openExisting(_ options: BrokerOptions = BrokerOptions()) async throws -> Broker {
        try check()
        var options = options
        options.file.makesMissing = false
        return try await open(options)
    }

    /// Throws if there is no such file.
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
