import Logging
package import Sluice

extension BrokerOptions {
    /// The defaults, for programs whose standard error a test reads: nothing is logged there.
    package static var silent: BrokerOptions {
        var options = BrokerOptions()
        options.logger = Logger(label: "sluice") { _ in SwiftLogNoOpLogHandler() }
        return options
    }
}
