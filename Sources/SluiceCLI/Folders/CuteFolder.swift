#if CommandLineTool
internal import Sluice

/// The folder in which Cute, a library for iOS, keeps a queue.
///
/// Each job is a file, written by `FileBasedPersister` with `JSONEncoder`. It has `id`, `createdDate`
/// (seconds since 2001), perhaps `data` (Base64), `action`, and other fields of its type. The file's name is
/// the date in seconds since 1970 and the id. Cute loads jobs by their dates, so a job that was put back at
/// the front keeps its old place.
struct CuteFolder {
    /// The kind of a job whose action is empty.
    static let kind = "job"

    /// The most bytes of a job's file: all of it becomes the payload.
    private static let jobLimit = BrokerOptions().maximumPayloadByteCount
    private static let suffix = ".json"
    private static let keyPrefix = "cute/"

    private struct Job {
        let name: String
        let date: Double
    }

    private let path: String
    /// The kind of all jobs, whatever their actions; `nil` means that each has its own.
    private let kind: String?
    private var jobs: [Job] = []
    private var next = 0
    /// Files that are no jobs or cannot be read.
    private var others: [FolderItem] = []

    /// Reads all jobs of a folder, since their order depends on all dates.
    init(path: String, kind: String?) throws(Failure) {
        self.path = path
        self.kind = kind
        let names: [String]
        do throws(Refusal) {
            names = try PlainFile.names(in: path)
        } catch {
            throw Failure(.noInput, "\(path) cannot be read: \(error.reason)")
        }
        for name in names {
            guard name.hasSuffix(Self.suffix) else {
                others.append(.ignored(name: name, reason: "a job's file has a name that ends in .json"))
                continue
            }
            do throws(Refusal) {
                let date = try FolderTime.seconds("createdDate", of: try job(name).members)
                jobs.append(Job(name: name, date: date))
            } catch {
                others.append(.unreadable(name: name, reason: error.reason))
            }
        }
        // Jobs with the same date are sorted by name, as the order of a folder is arbitrary.
        jobs.sort { ($0.date, $0.name) < ($1.date, $1.name) }
        others.reverse()
    }

    /// The part of the jobs that has been returned.
    var fraction: Double { jobs.isEmpty ? 1 : Double(next) / Double(jobs.count) }

    /// Returns the next item; `nil` at the end.
    mutating func nextItem() -> FolderItem? {
        guard next < jobs.count else { return others.popLast() }
        defer { next += 1 }
        let name = jobs[next].name
        do throws(Refusal) {
            return .entry(try entry(name))
        } catch {
            return .unreadable(name: name, reason: error.reason)
        }
    }

    private func job(_ name: String) throws(Refusal) -> (text: String, members: JSONMembers) {
        let text = try PlainFile.text(of: "\(path)/\(name)", limit: Self.jobLimit)
        return (text, try JSONMembers(text))
    }

    private func entry(_ name: String) throws(Refusal) -> FolderEntry {
        let job = try job(name)
        // Cute finds a job by its file's name; the application may reuse ids.
        let identity = Self.keyPrefix + name.dropLast(Self.suffix.count)
        return FolderEntry(
            name: name,
            identity: identity,
            kind: try kind(of: job.members),
            payload: job.text,
            createdAt: try FolderTime.time("createdDate", of: job.members, since: FolderTime.referenceDate)
        )
    }

    private func kind(of job: JSONMembers) throws(Refusal) -> String {
        if let kind { return kind }
        guard let action = try job.text("action") else { throw Refusal("the field 'action' is missing") }
        return action.isEmpty ? Self.kind : action
    }
}
#endif
