/** Requests that are right; the seeds of the fuzzer beside the refused ones. */
export const validRequests: readonly string[] = [
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /a/b?c=d HTTP/1.1\r\nHost: a:80\r\nAccept: */*\r\nCookie: a=1; b=2\r\n\r\n",
  "POST /f HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world",
  "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n",
  "PUT /t HTTP/1.1\r\nTransfer-Encoding: Chunked\r\nHost: a\r\n\r\n3\r\nabc\r\n0\r\nT: u\r\n\r\n",
  "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n",
  "DELETE /x HTTP/1.1\r\nHost: [::1]:80\r\nConnection: keep-alive\r\n\r\n",
  "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
  "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /2 HTTP/1.1\r\nHost: a\r\n\r\n",
  "GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  "GET /close HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "\r\nGET /crlf HTTP/1.1\r\nHost: a\r\n\r\n",
  "POST /e HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\nhi",
  "GET /u HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
];
