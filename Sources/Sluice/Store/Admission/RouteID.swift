/// The number of a route in its broker.
package struct RouteID: Hashable, Sendable { package let rawValue: Int }
