import Sluice

let broker = try await Broker(file: "outbox.sqlite")
await broker.close()
