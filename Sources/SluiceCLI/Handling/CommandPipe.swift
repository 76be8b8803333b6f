#if CommandLineTool
internal import SystemPackage

/// A pipe between this process and a command.
enum CommandPipe {
    static func make() throws(StartFailure) -> (reading: FileDescriptor, writing: FileDescriptor) {
        do {
            let (reading, writing) = try FileDescriptor.pipe()
            return (reading, writing)
        } catch {
            throw StartFailure(error)
        }
    }
}
#endif
