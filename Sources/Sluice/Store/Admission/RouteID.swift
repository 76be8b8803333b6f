package struct RouteID: Hashable, Sendable { package let rawValue: Int }
