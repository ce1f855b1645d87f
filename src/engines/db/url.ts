import { percentDecoded } from "../../kit/encoding.js";
import { camelCase } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";

/** A server by its name, its address or the folder of its Unix socket. */
export interface DatabaseServer {
  readonly host: string;
  readonly port: number;
}

export interface ParsedUrl {
  readonly engine: "postgres" | "pglite";
  readonly folder: string | null;
  /** The servers, if there are several; a port that is not named is undefined. */
  readonly hosts: readonly { readonly host: string; readonly port: number | undefined }[] | null;
  /** Fields of DatabaseConfig. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** Reads a connection URL. No message repeats the URL, which may hold a password. */
export function parseDatabaseUrl(text: string): ParsedUrl {
  if (/^pglite:/i.test(text)) return parsePglite(text);
  if (!/^postgres(?:ql)?:\/\//i.test(text)) {
    throw new ValueError(
      "the database URL must begin with postgres://, postgresql:// or pglite: (PostgreSQL is the one engine)",
    );
  }
  const { single, list } = splitHosts(text);
  const url = parse(single);
  const options: Record<string, unknown> = {};
  if (url.hostname !== "") options["host"] = hostOf(url);
  if (url.port !== "") options["port"] = Number(url.port);
  if (url.username !== "") options["user"] = decode(url.username);
  if (url.password !== "") options["password"] = decode(url.password);
  if (url.pathname.length > 1) options["database"] = decode(url.pathname.slice(1));
  for (const [name, value] of url.searchParams) readParameter(options, name, value);
  return { engine: "postgres", folder: null, options, hosts: list };
}

/** `postgres://user@a:5432,b:5433/x`: several hosts as libpq has them, which no URL has. */
function splitHosts(text: string): { readonly single: string; readonly list: ParsedUrl["hosts"] } {
  const start = text.indexOf("://") + 3;
  const length = text.slice(start).search(/[/?#]/);
  const end = length === -1 ? text.length : start + length;
  const hostStart = start + text.slice(start, end).lastIndexOf("@") + 1;
  const items = text.slice(hostStart, end).split(",");
  if (items.length === 1) return { single: text, list: null };
  const list = items.map((item) => {
    if (item === "") throw new ValueError("the database URL has an empty host in its list of hosts");
    const url = parse(`postgres://${item}/`);
    return { host: hostOf(url), port: url.port === "" ? undefined : Number(url.port) };
  });
  return { single: `${text.slice(0, hostStart)}${items[0]}${text.slice(end)}`, list };
}

function parse(text: string): URL {
  try {
    return new URL(text);
  } catch {
    return malformed();
  }
}

function hostOf(url: URL): string {
  return decode(url.hostname).replace(/^\[|\]$/g, "");
}

/** Names of libpq that differ from ours. */
const renamed: Readonly<Record<string, string>> = { dbname: "database", application_name: "applicationName" };
const numbers = new Set(["port", "poolSize"]);
const durations = /(?:Timeout|Lifetime|Lag)$/;

function readParameter(options: Record<string, unknown>, name: string, value: string): void {
  const known = camelCase(name);
  // As in libpq, a time without a unit is in seconds.
  const isNumber = numbers.has(known) || (durations.test(known) && !/[a-z]$/.test(value));
  if (isNumber) options[name] = value === "" ? Number.NaN : Number(value);
  else if (name === "prepared_statements" || name === "preparedStatements") options[name] = flag(value);
  // PgBouncer users know this one from other clients.
  else if (name === "pgbouncer") options["preparedStatements"] = !flag(value);
  // An option of node-postgres for the meaning that sslmode always has here.
  else if (name !== "uselibpqcompat") options[renamed[name] ?? name] = value;
}

function flag(value: string): boolean {
  return value === "true" || value === "1" || value === "on";
}

function parsePglite(text: string): ParsedUrl {
  const rest = text.slice("pglite:".length);
  const mark = rest.indexOf("?");
  const options: Record<string, unknown> = {};
  if (mark !== -1) {
    for (const [name, value] of new URLSearchParams(rest.slice(mark + 1))) readParameter(options, name, value);
  }
  const path = decode(mark === -1 ? rest : rest.slice(0, mark));
  // `pglite:///var/data` has an empty host, as a file: URL has.
  const folder = path.startsWith("///") ? path.slice(2) : path.startsWith("//") ? path.slice(2) : path;
  const memory = folder === "" || folder === "memory" || folder === ":memory:";
  return { engine: "pglite", folder: memory ? null : folder, options, hosts: null };
}

function decode(text: string): string {
  return percentDecoded(text) ?? malformed();
}

function malformed(): never {
  throw new ValueError(
    "the database URL is not valid; special characters in user and password must be percent-encoded (encodeURIComponent)",
  );
}
