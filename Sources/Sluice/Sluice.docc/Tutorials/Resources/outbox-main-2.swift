import Sluice

let broker = try await Broker(file: "outbox.sqlite")
try addRoutes(to: broker, server: PrintingServer())
await broker.close()
