#if SLUICE_MUTANTS
internal import SluiceSQLite

func mutant(_ name: StaticString) -> Bool { SluiceSQLite.mutant(name) }
#else
/// Returns whether the guard of this name is disabled: only in the builds of `.ci/mutants`.
@inline(__always)
func mutant(_ name: StaticString) -> Bool { false }
#endif
