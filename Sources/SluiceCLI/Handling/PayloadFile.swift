#if CommandLineTool
internal import CSluiceCommands
internal import Sluice
internal import SystemPackage

/// A payload as a command's standard input: a file without a name, at its first byte.
enum PayloadFile {
    static func make(_ payload: String) throws(StartFailure) -> FileDescriptor {
        var payload = payload
        let file = payload.withUTF8 { csluice_unnamed_file($0.baseAddress, $0.count) }
        guard file >= 0 else { throw StartFailure(code: -file) }
        return FileDescriptor(rawValue: file)
    }
}
#endif
