import type { EitherSpelling } from "../internal/names.js";
import { nodeOs } from "../internal/node-modules.js";
import { type Checks, is, isPlainObject, readOptions } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { type Steering, steeringChecks } from "./command-line.js";
import { type Http2Fields, planHttp2, readHttp2 } from "./http2/fields.js";
import type { RunSettings } from "./run-target.js";
import { readTls, type TlsFields } from "./tls/fields.js";
import { defaultLimits, type ListenAddress, type ServerLimits } from "./transport.js";

export interface RunFields extends Steering, ServerLimits {
  /** The name of the application, in the banner, the log, the health report and the telemetry. */
  readonly name: string;
  /** Our own HTTP/1.1 on node:net, or node:http. */
  readonly transport: "net" | "node";
  /** Serve HTTPS. */
  readonly tls: TlsFields;
  /** Listen on a Unix socket in place of host and port. */
  readonly path: string;
  /** Seconds a handler may take before 504; 0 for no limit. */
  readonly requestTimeout: number;
  /** Seconds from the signal to stop until the process is gone, whatever clients do. */
  readonly shutdownTimeout: number;
  /**
   * Seconds without a turn of the event loop after which a process counts as stuck and is killed; 0 for no limit.
   * Default 30, and 0 in a single process in debug mode. There is no limit while a debugger is attached.
   */
  readonly stuckTimeout: number;
  /** Show the address and the rest once the server listens. */
  readonly banner: boolean;
  /**
   * True (the default) if the process belongs to the server: it reads the command line, handles signals, prints why it
   * cannot start, and exits. With `false` it does none of that: `run` rejects when the start fails and the caller
   * closes.
   */
  readonly exit: boolean;
}

/** The options of `run`, each in either spelling; null and undefined count as not given. */
export type RunOptions = EitherSpelling<{ readonly [K in keyof RunFields]?: RunFields[K] | null | undefined }>;

/** The options of a run, all decided. */
export interface RunPlan {
  readonly settings: RunSettings;
  readonly address: ListenAddress;
  readonly reload: boolean;
  readonly transport: "net" | "node";
  readonly tls: TlsFields | null;
  readonly http2: Http2Fields | null;
  readonly limits: ServerLimits;
  readonly shutdownTimeout: number;
  readonly stuckTimeout: number;
  readonly banner: boolean;
}

/** Checks the options; nothing is filled in yet. */
export function readRunOptions(options: RunOptions | undefined): Partial<RunFields> {
  if (options === undefined || options === null) return {};
  if (!isPlainObject(options)) return readOptions("run()", options, checks);
  const given = Object.entries(options).filter(([, value]) => value !== null);
  const fields = readOptions<RunFields>("run()", Object.fromEntries(given), checks);
  return {
    ...fields,
    ...(fields.tls !== undefined && { tls: readTls(fields.tls) }),
    ...(typeof fields.http2 === "object" && { http2: readHttp2(fields.http2) }),
  };
}

/** Command line over options over environment over the contract's defaults. */
export function planRun(
  commandLine: Partial<Steering>,
  options: Partial<RunFields>,
  environment: Partial<Steering>,
): RunPlan {
  const given: Partial<RunFields> = { ...environment, ...options, ...commandLine };
  const exit = given.exit ?? true;
  const env = given.env ?? "development";
  const debug = given.debug ?? env === "development";
  const reload = exit && (given.reload ?? false);
  if (!exit) refuseProcesses(options);
  const several = exit && !reload;
  const workers = several
    ? (given.workers ?? (env === "production" && !debug ? nodeOs().availableParallelism() : 1))
    : 1;
  const host = given.host ?? "127.0.0.1";
  const http2 = planHttp2(commandLine.http2, options.http2 as boolean | Partial<Http2Fields>, environment.http2);
  if (http2 !== null && given.transport === "node") {
    throw new ValueError('http2 cannot be used with `transport: "node"`, which speaks HTTP/1.1 only');
  }
  const addressed = commandLine.host !== undefined || commandLine.port !== undefined;
  return {
    settings: {
      env,
      debug,
      logs: given.logs ?? (debug ? true : undefined),
      requestTimeout: given.requestTimeout ?? 30,
      workers,
      host,
      ...(given.name !== undefined && { name: given.name }),
    },
    address: {
      host,
      port: given.port ?? 8000,
      ...(given.path !== undefined && !addressed && { path: given.path }),
    },
    reload,
    transport: given.transport ?? "net",
    tls: given.tls ?? null,
    http2,
    limits: limitsOf(given),
    shutdownTimeout: given.shutdownTimeout ?? 10,
    stuckTimeout: given.stuckTimeout ?? (debug && workers === 1 ? 0 : 30),
    banner: given.banner ?? exit,
  };
}

/** Up to the longest time of a timer. */
const seconds = is.number(0, 2_147_483);
const someSeconds = is.number(0.001, 2_147_483);
const checks: Checks<RunFields> = {
  ...steeringChecks,
  name: is.text,
  transport: is.oneOf("net", "node"),
  tls: is.object,
  path: is.text,
  requestTimeout: seconds,
  shutdownTimeout: seconds,
  stuckTimeout: seconds,
  banner: is.boolean,
  exit: is.boolean,
  headTimeout: someSeconds,
  bodyTimeout: someSeconds,
  bodyTotalTimeout: someSeconds,
  keepAliveTimeout: someSeconds,
  writeTimeout: someSeconds,
  maxConnections: is.integer(0),
  maxHeadSize: is.integer(1),
  maxTargetSize: is.integer(1),
  maxHeaders: is.integer(1),
  maxBodyMemory: is.integer(0),
};

function refuseProcesses(options: Partial<RunFields>): void {
  if ((options.workers ?? 1) > 1 || options.reload) {
    throw new ValueError("workers and reload start processes of their own: they cannot be used with `exit: false`");
  }
}

function limitsOf(given: Partial<RunFields>): ServerLimits {
  const limits: Record<string, number> = {};
  for (const name of Object.keys(defaultLimits) as (keyof ServerLimits)[]) {
    limits[name] = given[name] ?? defaultLimits[name];
  }
  return limits as unknown as ServerLimits;
}
