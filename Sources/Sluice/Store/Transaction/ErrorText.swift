/// Returns a text cut, at a character's boundary, to the length that the file keeps of an error.
func bounded(_ text: String) -> String {
    let limit = SluiceError.maximumTextByteCount
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.utf8.startIndex, offsetBy: limit)
    while end > text.startIndex, end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
    return String(text[..<end])
}
