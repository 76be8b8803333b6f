#if SLUICE_MUTANTS
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Whether a guard of this name is taken out, to see that a test goes red: the environment variable `MUTANT`
/// names it.
///
/// `.ci/mutants` builds with it and runs the tests of each.
package func mutant(_ name: StaticString) -> Bool { chosenMutant == name.description }

private let chosenMutant = getenv("MUTANT").map { String(cString: $0) }
#else
/// Whether a guard of this name is taken out: never, but in the builds of `.ci/mutants`.
///
/// Nothing is left of it where code is optimised.
@inline(__always)
func mutant(_ name: StaticString) -> Bool { false }
#endif
