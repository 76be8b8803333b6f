import Foundation
import Sluice

/// Runs the parts of a simulated process's tasks when the world chooses them.
final class SimulatedExecutor: TaskExecutor {
    private unowned let process: SimulatedProcess

    init(_ process: SimulatedProcess) { self.process = process }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        process.world.add(process) { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Takes the tasks that nobody has given an executor.
///
/// They are those of the process whose code has made or resumed them. By the runtime's hook for that,
/// `swift_task_enqueueGlobal_hook` in `stdlib/public/Concurrency/GlobalExecutor.cpp`.
enum TaskHook {
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    static func install() {
        guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else {
            fatalError("Swift's runtime has no hook for tasks")
        }
        symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, _ in
            let process = World.current.process
            World.current.add(process) {
                job.runSynchronously(on: process.executor.asUnownedTaskExecutor())
            }
        }
    }
}
