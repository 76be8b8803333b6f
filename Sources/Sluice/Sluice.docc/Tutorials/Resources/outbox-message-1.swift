struct SendMessage: Codable {
    var conversation: String
    var text: String
}
