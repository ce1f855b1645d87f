import { option, type SettingsOf } from "../kit/config.js";
import { is } from "../kit/options.js";
import { closest } from "../kit/suggest.js";
import { http2Option } from "./http2/fields.js";
import { StartError } from "./start-error.js";

/** The options that the command line and the environment can steer. */
export const steeringFields = {
  /** Address to listen on; `0.0.0.0` for all, as in a container. Default "127.0.0.1". */
  host: option(is.text, "127.0.0.1"),
  /** Port to listen on; 0 for any that is free. Default 8000. */
  port: option(is.integer(0, 65_535), 8000),
  /** The environment. Default "development", or what `STOA_ENV` or `NODE_ENV` says. */
  env: option(is.oneOf("development", "production"), "development"),
  /** Shows errors to the client. Default: on in development, off in production. */
  debug: option(is.boolean),
  /** Restarts the server when a source file changes. Default false. */
  reload: option(is.boolean, false),
  /** Number of serving processes. Default: one for each CPU in production without debug, otherwise 1. */
  workers: option(is.integer(1, 1024)),
  /** Logs each request. Default: on in debug mode. */
  logs: option(is.boolean),
  /**
   * The sockets of the server: our own HTTP/1.1 on the native addon or on node:net, or node:http. Default "auto":
   * native where the addon is built and neither TLS nor HTTP/2 is on, else node:net.
   */
  transport: option(is.oneOf("auto", "native", "net", "node"), "auto"),
  /** Serve HTTP/2 too, on the same port as HTTP/1.1. `true` or an object of options. Default false. */
  http2: http2Option,
};

export type Steering = SettingsOf<typeof steeringFields>;

export interface CommandLine {
  readonly options: Partial<Steering>;
  readonly help: boolean;
  /** Arguments that resemble one of the server's: probably mistyped. */
  readonly doubts: readonly string[];
}

/** Reads the framework's own arguments and passes over all others: those belong to the program. */
export function readCommandLine(args: readonly string[]): CommandLine {
  const options: Record<string, unknown> = {};
  const doubts: string[] = [];
  let help = false;
  for (let i = 0; i < args.length; i++) {
    const argument = args[i]!;
    if (argument === "--") break;
    const [, negation, name, attached] = /^--(no-)?([A-Za-z]+2?)(?:=(.*))?$/s.exec(argument) ?? [];
    if (name === undefined) continue;
    if (name === "help" && !negation && attached === undefined) help = true;
    else if (isSwitch(name)) options[name] = switchValue(argument, attached) !== Boolean(negation);
    else if (isSetting(name) && !negation) {
      const value = attached ?? args[++i];
      if (value === undefined || (attached === undefined && value.startsWith("--"))) {
        throw new StartError(`--${name} needs a value`);
      }
      options[name] = readText(`--${name}`, name, value);
    } else if (!isSetting(name)) {
      const meant = closest(name, names, name.length > 4 ? 2 : 1);
      if (meant !== undefined) doubts.push(`--${name} is no argument of the server; did you mean --${meant}?`);
    }
  }
  return { options, help, doubts };
}

const names = ["host", "port", "env", "debug", "reload", "workers", "logs", "transport", "http2", "help"];

/** A value given as text, for one of the options that take one; an error names `source`. */
export function readText(source: string, name: keyof Steering, text: string): string | number {
  const numeric = name === "port" || name === "workers";
  const value = numeric && /^\d+$/.test(text) ? Number(text) : text;
  const allowed = steeringFields[name].check(value);
  if (allowed !== undefined) throw new StartError(`${source} must be ${allowed}, not ${JSON.stringify(text)}`);
  return value;
}

/** `undefined` for text that is neither yes nor no. */
export function readSwitch(text: string): boolean | undefined {
  if (/^(1|true|yes|on)$/i.test(text)) return true;
  return /^(0|false|no|off)$/i.test(text) ? false : undefined;
}

export const usage = `Arguments of the server:
  --host ADDRESS       address to listen on (127.0.0.1)
  --port NUMBER        port to listen on, 0 for any free one (8000)
  --env NAME           development or production (development)
  --debug, --no-debug  debug mode (on in development)
  --reload             restart when a source file changes
  --workers NUMBER     processes that serve (one per CPU in production, else 1)
  --no-logs, --logs    request logging (on in debug mode)
  --transport NAME     auto, native, net or node (auto)
  --http2, --no-http2  HTTP/2 beside HTTP/1.1 on the same port (off)
  --help               show this text
`;

function isSwitch(name: string): name is "debug" | "reload" | "logs" | "http2" {
  return name === "debug" || name === "reload" || name === "logs" || name === "http2";
}

function isSetting(name: string): name is "host" | "port" | "env" | "workers" | "transport" {
  return name === "host" || name === "port" || name === "env" || name === "workers" || name === "transport";
}

function switchValue(argument: string, attached: string | undefined): boolean {
  const value = attached === undefined ? true : readSwitch(attached);
  if (value === undefined) {
    throw new StartError(
      `${argument.slice(0, argument.indexOf("="))} must be true or false, not ${JSON.stringify(attached)}`,
    );
  }
  return value;
}
