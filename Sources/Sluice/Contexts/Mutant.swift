#if SLUICE_MUTANTS
internal import SluiceSQLite

/// Returns whether the guard of this name is disabled, to check that a test fails.
package func mutant(_ name: StaticString) -> Bool { SluiceSQLite.mutant(name) }
#else
/// Returns whether the guard of this name is disabled: only in the builds of `.ci/mutants`.
@inline(__always)
package func mutant(_ name: StaticString) -> Bool { false }
#endif
