/**
 * The methods a request may have: those of the IANA registry that servers know. CONNECT asks for a tunnel and TRACE reflects
 * credentials: neither has a place in an origin server.
 */
export const requestMethods: readonly string[] = [
  ...["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"],
  ...[
    "ACL",
    "BIND",
    "CHECKOUT",
    "COPY",
    "LINK",
    "LOCK",
    "M-SEARCH",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MOVE",
  ],
  ...[
    "NOTIFY",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "REBIND",
    "REPORT",
    "SEARCH",
    "SOURCE",
    "SUBSCRIBE",
    "UNBIND",
    "UNLINK",
  ],
  ...["UNLOCK", "UNSUBSCRIBE"],
];
