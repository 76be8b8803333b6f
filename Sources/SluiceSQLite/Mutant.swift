#if SLUICE_MUTANTS
#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Returns whether the guard of this name is disabled by the environment variable `MUTANT`.
///
/// `.ci/mutants` builds with it, and checks that a test fails for each guard.
package func mutant(_ name: StaticString) -> Bool { chosenMutant == name.description }

private let chosenMutant = getenv("MUTANT").map { String(cString: $0) }
#else
/// Returns whether the guard of this name is disabled: only in the builds of `.ci/mutants`.
///
/// Optimised code contains nothing of it.
@inline(__always)
func mutant(_ name: StaticString) -> Bool { false }
#endif
