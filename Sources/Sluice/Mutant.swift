#if SLUICE_MUTANTS
internal import SluiceSQLite

/// Whether a guard of this name is taken out, to see that a test goes red.
func mutant(_ name: StaticString) -> Bool { SluiceSQLite.mutant(name) }
#else
/// Whether a guard of this name is taken out: never, but in the builds of `.ci/mutants`.
///
/// Nothing is left of it where code is optimised.
@inline(__always)
func mutant(_ name: StaticString) -> Bool { false }
#endif
