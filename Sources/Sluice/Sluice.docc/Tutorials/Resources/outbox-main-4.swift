import Sluice

let broker = try await Broker(file: "outbox.sqlite")
try addRoutes(to: broker, server: PrintingServer())
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.count == 2 {
    let message = SendMessage(conversation: arguments[0], text: arguments[1])
    let receipt = try await broker.enqueue(message)
    print("stored as action \(receipt.id)")
} else if arguments.isEmpty {
    try await broker.run()
} else {
    print("usage: outbox [NAME TEXT]")
}
await broker.close()
