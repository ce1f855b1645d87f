import { percentDecoded } from "../../kit/encoding.js";
import { ValueError } from "../../kit/value-error.js";

/** The fields of KvStoreConfig that a URL can hold, and the place of the server. */
export interface ParsedKvUrl {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly database: number | undefined;
}

const schemes = new Map([
  ["redis:", false],
  ["valkey:", false],
  ["rediss:", true],
  ["valkeys:", true],
]);

/** Reads `redis://user:password@host:6379/0`. No message repeats the URL, which may hold a password. */
export function parseKvUrl(text: string): ParsedKvUrl {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return malformed();
  }
  const secure = schemes.get(url.protocol);
  if (secure === undefined) {
    throw new ValueError(
      "the URL of the key-value store must begin with redis://, rediss://, valkey:// or valkeys:// (with TLS: rediss://, valkeys://)",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw new ValueError("the URL of the key-value store takes no query: give options as fields of KvStoreConfig");
  }
  const path = url.pathname.replace(/^\//, "");
  if (path !== "" && !/^\d{1,5}$/.test(path)) {
    throw new ValueError("the path of the key-value store's URL must be the number of a database: redis://host:6379/0");
  }
  return {
    host: decode(url.hostname).replace(/^\[|\]$/g, "") || "127.0.0.1",
    port: url.port === "" ? 6379 : Number(url.port),
    secure,
    username: decode(url.username) || undefined,
    password: decode(url.password) || undefined,
    database: path === "" ? undefined : Number(path),
  };
}

function decode(text: string): string {
  return percentDecoded(text) ?? malformed();
}

function malformed(): never {
  throw new ValueError(
    "the URL of the key-value store is malformed: redis://user:password@host:6379/0, with special characters of the password escaped",
  );
}
