#if CommandLineTool
internal import Sluice
internal import SluiceJSON

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The folder in which Customer.io's SDK for iOS keeps its queue.
///
/// `inventory.json` is an array with an object for each task, in the order in which they run. `tasks/` has a
/// file with the work of each task. Both are written by `QueueStorage.swift` of
/// <https://github.com/customerio/customerio-ios>:
///
/// | in the inventory | in the task's file |
/// | --- | --- |
/// | `task_persisted_id`: the file's name without `.json` | `storage_id`: the same |
/// | `task_type` | `type` |
/// | `group_start`, `group_member`: names of groups | `data`: JSON, in Base64 |
/// | `created_at`: seconds since 1970 | `run_results`, with `total_runs` |
///
/// A task is written before it is added to the inventory, and leaves the inventory before its file is
/// deleted. Files without an entry were never in the queue, or have run.
struct CustomerIOFolder {
    static let inventoryName = "inventory.json"
    static let tasksName = "tasks"
    /// The default queue of its actions.
    static let queue = "customer-io"

    /// The most bytes of an entry of the inventory.
    private static let entryLimit = 1_024 * 1_024
    /// The most bytes of a task's file: Base64 makes a payload a third longer, and its slashes may be
    /// escaped.
    private static let taskLimit = BrokerOptions().maximumPayloadByteCount * 2
    private static let keyPrefix = "customer-io/"

    private let path: String
    private var inventory: ElementReader
    private var number = 0
    /// Files that the inventory names.
    private var named: Set<String> = []
    private var isBroken = false
    /// The other files; `nil` until the inventory has been read.
    private var leftover: [FolderItem]?

    init(path: String) throws(Failure) {
        self.path = path
        let tasks = "\(path)/\(Self.tasksName)"
        if PlainFile.isLink(tasks) {
            throw Failure(.noInput, "\(tasks) cannot be read: it is a symbolic link")
        }
        do throws(Refusal) {
            inventory = try ElementReader(
                path: "\(path)/\(Self.inventoryName)",
                maximumByteCount: Self.entryLimit
            )
        } catch {
            throw Failure(.noInput, "\(path)/\(Self.inventoryName) cannot be read: \(error.reason)")
        }
    }

    /// The part of the input that has been read.
    var fraction: Double { inventory.fraction }

    /// Returns the next item; `nil` at the end.
    mutating func nextItem() -> FolderItem? {
        if leftover == nil, let element = inventory.nextElement() { return item(element) }
        if leftover == nil {
            inventory.close()
            leftover = ignored().reversed()
        }
        return leftover?.popLast()
    }

    private mutating func item(_ element: ElementSplitter.Element) -> FolderItem {
        if case .broken(let reason) = element {
            isBroken = true
            return .unreadable(name: Self.inventoryName, reason: reason)
        }
        number += 1
        var name = "\(Self.inventoryName), entry \(number)"
        do throws(Refusal) {
            guard case .bytes(let bytes) = element else {
                throw Refusal("it has more than \(Self.entryLimit) bytes")
            }
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw Refusal("it is not UTF-8")
            }
            let entry = try JSONMembers(text)
            let id = try Self.id(of: entry)
            let file = id.hasSuffix(".json") ? id : id + ".json"
            name = "\(Self.tasksName)/\(file)"
            named.insert(file)
            return .entry(try self.entry(name, id, entry))
        } catch {
            return .unreadable(name: name, reason: error.reason)
        }
    }

    private static func id(of entry: JSONMembers) throws(Refusal) -> String {
        let field = "task_persisted_id"
        guard let id = try entry.text(field) else { throw Refusal("the field '\(field)' is missing") }
        // The SDK never writes a name that leads out of the folder.
        guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")), !id.utf8.contains(0) else {
            throw Refusal("the field '\(field)' is no name of a file")
        }
        let limit = DeduplicationKey.maximumByteCount - keyPrefix.utf8.count
        guard id.utf8.count <= limit else {
            throw Refusal("the field '\(field)' has more than \(limit) bytes")
        }
        return id
    }

    private func entry(_ name: String, _ id: String, _ entry: JSONMembers) throws(Refusal) -> FolderEntry {
        let task = try JSONMembers(try PlainFile.text(of: "\(path)/\(name)", limit: Self.taskLimit))
        guard let kind = try task.text("type") else { throw Refusal("the field 'type' is missing") }
        return FolderEntry(
            name: name,
            identity: Self.keyPrefix + id,
            kind: kind,
            payload: try Self.payload(of: task),
            createdAt: try FolderTime.time("created_at", of: entry, since: FolderTime.unixEpoch),
            attempts: try Self.runs(of: task),
            groups: try Self.groups(of: entry)
        )
    }

    private static func payload(of task: JSONMembers) throws(Refusal) -> String {
        guard let encoded = try task.text("data") else { throw Refusal("the field 'data' is missing") }
        guard let data = Data(base64Encoded: encoded) else { throw Refusal("the field 'data' is no Base64") }
        guard let payload = String(validating: data, as: UTF8.self), JSONGrammar.accepts(payload) else {
            throw Refusal("the field 'data' does not contain JSON")
        }
        return payload
    }

    private static func groups(of entry: JSONMembers) throws(Refusal) -> ActionGroups {
        var groups = ActionGroups()
        if let started = try entry.text("group_start") { groups.started = [GroupName(started)] }
        groups.joined = try entry.texts("group_member").map { GroupName($0) }
        return groups
    }

    private static func runs(of task: JSONMembers) throws(Refusal) -> Int64 {
        guard let results = task.raw("run_results") else {
            throw Refusal("the field 'run_results' is missing")
        }
        guard let runs = try JSONMembers(results).integer("total_runs") else {
            throw Refusal("the field 'total_runs' is missing")
        }
        guard (0...TransferredAction.maximumAttempts).contains(runs) else {
            throw Refusal("the field 'total_runs' is no number of runs")
        }
        return runs
    }

    /// Returns the files that do not belong to a task of the inventory.
    private func ignored() -> [FolderItem] {
        var items: [FolderItem] = []
        do throws(Refusal) {
            let parts = [Self.inventoryName, Self.tasksName]
            for name in try PlainFile.names(in: path) where !parts.contains(name) {
                items.append(.ignored(name: name, reason: "it is no part of the queue"))
            }
        } catch {
            items.append(.unreadable(name: path, reason: error.reason))
        }
        let tasks = "\(path)/\(Self.tasksName)"
        // A queue that never had a task has no folder for tasks.
        guard PlainFile.isThere(tasks) else { return items }
        do throws(Refusal) {
            for name in try PlainFile.names(in: tasks) where !named.contains(name) {
                let reason =
                    isBroken
                    ? "it is not in the inventory's readable part"
                    : "it is not in the inventory: it was never added, or it has run"
                items.append(.ignored(name: "\(Self.tasksName)/\(name)", reason: reason))
            }
        } catch {
            items.append(.unreadable(name: Self.tasksName, reason: error.reason))
        }
        return items
    }
}
#endif
