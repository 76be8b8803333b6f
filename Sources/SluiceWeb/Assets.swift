#if Web
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore

/// The files that all pages use.
enum Assets {
    static let style = response(PackageResources.page_css, "text/css; charset=utf-8")
    static let script = response(PackageResources.page_js, "text/javascript; charset=utf-8")

    private static func response(_ bytes: [UInt8], _ type: String) -> Response {
        var headers: HTTPFields = [.contentType: type, .cacheControl: "no-cache"]
        headers[.xContentTypeOptions] = "nosniff"
        return Response(
            status: .ok,
            headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes))
        )
    }
}
#endif
