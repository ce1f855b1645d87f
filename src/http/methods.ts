/**
 * The list of request methods that the parsers accept and that a route can have: the methods of the IANA registry that
 * servers know. CONNECT asks for a tunnel and TRACE reflects credentials: an origin server supports neither.
 */
export const requestMethods: readonly string[] = [
  "GET HEAD POST PUT PATCH DELETE OPTIONS QUERY",
  "ACL BIND CHECKOUT COPY LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MOVE M-SEARCH NOTIFY PROPFIND PROPPATCH PURGE",
  "REBIND REPORT SEARCH SOURCE SUBSCRIBE UNBIND UNLINK UNLOCK UNSUBSCRIBE",
].flatMap((line) => line.split(" "));
