import { config, is, option } from "stoa/feature";

/** The place of a mail server, and the way to use it. */
export class MailConfig extends config(
  "MailConfig",
  {
    /** The sender of mails that name none: `"Shop <shop@example.com>"`. */
    from: option.required(is.text),
    /** The mail server. Default "127.0.0.1". */
    host: option(is.text, "127.0.0.1"),
    /** Its port. Default 587. */
    port: option(is.integer(1, 65_535), 587),
    /** True for TLS from the first byte; without it STARTTLS is used where the server offers it. Default false. */
    secure: option(is.boolean, false),
    /** The user. Default none. */
    user: option(is.text),
    /** The password of the user. */
    password: option.secret(is.text),
    /** Connections that are kept. Default 5. */
    maxConnections: option(is.integer(1, 100), 5),
    /** Time to wait for the server. Default 10 seconds. */
    timeout: option.duration("10s", "1ms", "1h"),
  },
  { order: ["from", "host", "port"] },
) {}
