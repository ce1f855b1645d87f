/** A request that must be refused: its bytes, and the statuses that are right. A second request hides behind each. */
export interface RefusedCase {
  readonly name: string;
  readonly bytes: string;
  readonly statuses: readonly number[];
}

const hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
const bad = [400] as const;

function post(fields: string, body = ""): string {
  return `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n${body}`;
}

function chunked(body: string): string {
  return post("Transfer-Encoding: chunked\r\n", body);
}

const list: [name: string, bytes: string, statuses: readonly number[]][] = [
  // Two ways to find the end of the body.
  ["Content-Length with chunked", post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), bad],
  ["chunked with Content-Length", post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), bad],
  ["a coding that only looks like chunked", post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), [400, 501]],
  ["chunked that is not last", post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), bad],
  ["gzip before chunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), [400, 501]],
  ["identity", post("Transfer-Encoding: identity\r\n"), [400, 501]],
  ["an empty coding", post("Transfer-Encoding:\r\n", "0\r\n\r\n"), bad],
  ["chunked twice", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), bad],
  ["chunked twice in one field", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), bad],
  ["a vertical tab in the coding", post("Transfer-Encoding: \vchunked\r\n", "0\r\n\r\n"), bad],
  ["a NUL in the coding", post("Transfer-Encoding: chunked\0\r\n", "0\r\n\r\n"), bad],
  ["chunked on HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", bad],
  ...["+5", "-5", "0x5", "1_0", "1 0", "5.0", "", "18446744073709551621", "5, 5", "5,6", "five", "1e1"].map(
    (length): [string, string, readonly number[]] => [
      `Content-Length '${length}'`,
      post(`Content-Length: ${length}\r\n`, "hello"),
      bad,
    ],
  ),
  ["two equal lengths", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), bad],
  ["two different lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), bad],
  // Chunks.
  ["chunk size -1", chunked("-1\r\nx\r\n0\r\n\r\n"), bad],
  ["chunk size 0x5", chunked("0x5\r\nhello\r\n0\r\n\r\n"), bad],
  ["chunk size of 17 digits", chunked("00000000000000005\r\nhello\r\n0\r\n\r\n"), bad],
  ["chunk size beyond counting", chunked("ffffffffffffffff\r\nhello\r\n0\r\n\r\n"), bad],
  ["no chunk size", chunked("\r\nhello\r\n0\r\n\r\n"), bad],
  ["a blank behind the chunk size", chunked("5 \r\nhello\r\n0\r\n\r\n"), bad],
  ["a blank before the chunk size", chunked(" 5\r\nhello\r\n0\r\n\r\n"), bad],
  ["chunk size ended by a bare LF", chunked("5\nhello\r\n0\r\n\r\n"), bad],
  ["chunk size ended by a bare CR", chunked("5\rhello\r\n0\r\n\r\n"), bad],
  ["a bare LF in a chunk extension", chunked("5;a\nb\r\nhello\r\n0\r\n\r\n"), bad],
  ["a control character in a chunk extension", chunked("5;a=\x01\r\nhello\r\n0\r\n\r\n"), bad],
  ["a chunk extension of 20 kB", chunked(`5;a=${"x".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`), [400, 413]],
  ["many small chunk extensions", chunked(`${"1;abcdefgh\r\nx\r\n".repeat(3000)}0\r\n\r\n`), [400, 413]],
  ["chunk data longer than its size", chunked("5\r\nhelloo\r\n0\r\n\r\n"), bad],
  ["chunk data without CRLF", chunked("5\r\nhello0\r\n\r\n"), bad],
  ["chunk data ended by a bare LF", chunked("5\r\nhello\n0\r\n\r\n"), bad],
  ["a trailer without a colon", chunked("0\r\nnonsense\r\n\r\n"), bad],
  ["a length in the trailers", chunked("0\r\nContent-Length: 5\r\n\r\n"), bad],
  ["a coding in the trailers", chunked("0\r\nTransfer-Encoding: chunked\r\n\r\n"), bad],
  ["a trailer with a NUL", chunked("0\r\nA: \0\r\n\r\n"), bad],
  // Request lines.
  ["no version", "GET /\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/0.9", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", [400, 505]],
  ["lower-case http", "GET / http/1.1\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/1.1x", "GET / HTTP/1.1x\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/11", "GET / HTTP/11\r\nHost: a\r\n\r\n", [400, 505]],
  ["HTTP/1.10", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", [400, 505]],
  ["a space in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", [400, 505]],
  ["two spaces before the target", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["two spaces behind the target", "GET /  HTTP/1.1\r\nHost: a\r\n\r\n", [400, 505]],
  ["a space behind the version", "GET / HTTP/1.1 \r\nHost: a\r\n\r\n", [400, 505]],
  ["a tab in place of a space", "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", [400, 501]],
  ["a NUL in the target", "GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a fragment in the target", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a byte above 127 in the target", "GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a target without a slash", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["an asterisk for GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a space before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", [400, 501]],
  ["two empty lines before the request", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a method with a strange sign", "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", [400, 501]],
  ["a very long method", `${"A".repeat(5000)} / HTTP/1.1\r\nHost: a\r\n\r\n`, [400, 501]],
  ["CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", [400, 501]],
  ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 501, 505]],
  ["a TLS greeting", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", [400, 501]],
  // Header fields.
  ["a folded line", "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", bad],
  ["a folded first line", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", bad],
  ["a NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n", bad],
  ["a bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\rc\r\n\r\n", bad],
  ["a bare LF in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\nc: d\r\n\r\n", bad],
  ["a control character in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\x01c\r\n\r\n", bad],
  ["DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nA: b\x7fc\r\n\r\n", bad],
  ["a line without a colon", "GET / HTTP/1.1\r\nHost: a\r\nA\r\n\r\n", bad],
  ["an empty name", "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", bad],
  ["a blank before the colon", "GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n", bad],
  ["a blank before the colon of a length", post("Content-Length : 5\r\n", "hello"), bad],
  ["a control character in a name", "GET / HTTP/1.1\r\nHost: a\r\nA\x01: b\r\n\r\n", bad],
  ["a byte above 127 in a name", "GET / HTTP/1.1\r\nHost: a\r\n\xe9: b\r\n\r\n", bad],
  ["a bare LF behind the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", [400, 505]],
  ["bare LFs everywhere", "GET / HTTP/1.1\nHost: a\n\n", [400, 505]],
  ["a bare LF before the request", "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["a bare LF in place of the empty line", "GET / HTTP/1.1\r\nHost: a\r\n\n", bad],
  // Host.
  ["no Host", "GET / HTTP/1.1\r\n\r\n", bad],
  ["two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", bad],
  ...["", "evil@a", "a b", "a/b", "a:b", "a:123456", "[::1", "[zz]", "a:80:80", "\xe9", "a?b", "http://a"].map(
    (host): [string, string, readonly number[]] => [`Host '${host}'`, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`, bad],
  ),
  ["an absolute target for another host", "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["an absolute target for another port", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["an absolute target with user information", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  ["an absolute target of another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", bad],
  // Limits.
  ["a target of 64 kB", `GET /${"a".repeat(65_536)} HTTP/1.1\r\nHost: a\r\n\r\n`, [414]],
  ["a value of 64 kB", `GET / HTTP/1.1\r\nHost: a\r\nA: ${"a".repeat(65_536)}\r\n\r\n`, [431]],
  ["20000 fields", `GET / HTTP/1.1\r\nHost: a\r\n${"A: b\r\n".repeat(20_000)}\r\n`, [431]],
  ["201 fields", `GET / HTTP/1.1\r\nHost: a\r\n${"A: b\r\n".repeat(200)}\r\n`, [431]],
  ["another expectation", post("Expect: miracles\r\n"), [417]],
];

export const refusedCases: readonly RefusedCase[] = list.map(([name, bytes, statuses]) => ({
  name,
  bytes: bytes + hidden,
  statuses,
}));
