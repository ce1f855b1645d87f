import { type OptionsOf, option, options, type SettingsOf } from "../kit/config.js";
import type { EitherSpelling } from "../kit/names.js";
import { nodeOs } from "../kit/node-modules.js";
import { is } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import { type Steering, steeringFields } from "./command-line.js";
import { type Http2Fields, http2Options, planHttp2 } from "./http2/fields.js";
import { limitFields, longestTimer, type ServerLimits } from "./limits.js";
import type { RunSettings } from "./run-target.js";
import { type TlsSettings, tlsOption } from "./tls/fields.js";
import type { ListenAddress } from "./transport.js";

const ownFields = {
  /** The name of the application, in the banner, the log, the health report and the telemetry. */
  name: option(is.text),
  /** Serve HTTPS. */
  tls: tlsOption,
  /** Listen on a Unix socket in place of host and port. */
  path: option(is.text),
  /** Time that a handler may take before 504; 0 for no limit. Default 30 seconds. */
  requestTimeout: option.duration("30s", 0, longestTimer),
  /** The most errors that validation reports for one request; a model looks no further. Default 1000. */
  validateLimit: option(is.integer(1), 1000),
  /** Time from the signal to stop until the process has ended, whatever clients do. Default 10 seconds. */
  shutdownTimeout: option.duration("10s", 0, longestTimer),
  /**
   * Time after the signal to stop in which readiness responds with 503 and all requests are still served, for load balancers
   * to notice; `shutdownTimeout` begins after it. Default 0.
   */
  drainDelay: option.duration(0, 0, longestTimer),
  /**
   * Time without a turn of the event loop after which a process counts as stuck and is killed; 0 for no limit. There is no
   * limit while a debugger is attached. Default: 30 seconds, and 0 in a single process in debug mode.
   */
  stuckTimeout: option.duration(null, 0, longestTimer),
  /**
   * Time for which a route is refused with 503 that was running when three workers died in a row; 0 to refuse none. The
   * route is found by circumstances: the last one that began, or the only one that was always in flight. Default 0.
   */
  refuseDeadlyRoutes: option.duration(0, 0, longestTimer),
  /**
   * After the start, a rejected promise that is not handled is logged, and the process continues; with "exit" the process
   * drains and exits, as after an uncaught exception. Default "log".
   */
  unhandledRejections: option(is.oneOf("log", "exit"), "log"),
  /** Show the address and the rest once the server listens. Default: the value of `exit`. */
  banner: option(is.boolean),
  /**
   * True if the process belongs to the server: it reads the command line, handles signals, prints why it cannot start, and
   * exits. With `false` it does none of that: `run` rejects when the start fails and the caller closes. Default true.
   */
  exit: option(is.boolean, true),
};

// Without the names of these types the published declarations would lose the comments of other files.
const processFields: typeof steeringFields & typeof ownFields = { ...steeringFields, ...ownFields };
const fields: typeof processFields & typeof limitFields = { ...processFields, ...limitFields };

type Given = OptionsOf<typeof fields>;

/** The options of `run`, each in either spelling; null and undefined count as not given. */
export type RunOptions = EitherSpelling<{ readonly [K in keyof Given]?: Given[K] | null | undefined }>;

export type RunFields = SettingsOf<typeof fields>;

const runOptions = options("run()", fields, {
  idle({ exit, path, workers, stuckTimeout, unhandledRejections, banner, maxHeadSize, maxTargetSize }) {
    const inSocket = path !== undefined && "path is given, and the server listens there alone";
    const inside = !exit && "with exit: false the process belongs to the caller";
    return {
      host: inSocket,
      port: inSocket,
      drainDelay: inside,
      stuckTimeout: stuckTimeout !== 0 && inside,
      refuseDeadlyRoutes: inside || (workers === 1 && "it needs a supervisor: set workers to 2 or more"),
      unhandledRejections: unhandledRejections === "exit" && inside,
      banner: banner === true && inside,
      maxTargetSize: maxTargetSize > maxHeadSize && "maxHeadSize counts the target too, and is smaller",
    };
  },
});
const defaults = runOptions.read([]);

/** The options of a run, all decided. */
export interface RunPlan {
  readonly settings: RunSettings;
  readonly address: ListenAddress;
  readonly reload: boolean;
  readonly transport: "auto" | "native" | "net" | "node";
  readonly tls: TlsSettings | null;
  readonly http2: Http2Fields | null;
  readonly limits: ServerLimits;
  readonly shutdownTimeout: number;
  readonly drainDelay: number;
  readonly stuckTimeout: number;
  readonly refuseDeadlyRoutes: number;
  readonly unhandledRejections: "log" | "exit";
  readonly banner: boolean;
}

/** Checks the options; nothing is filled in yet. */
export function readRunOptions(given: RunOptions | undefined): Partial<RunFields> {
  return runOptions.readGiven([given]);
}

/** Command line over options over environment over the contract's defaults. */
export function planRun(
  commandLine: Partial<Steering>,
  options: Partial<RunFields>,
  environment: Partial<Steering>,
): RunPlan {
  const given: RunFields = { ...defaults, ...environment, ...options, ...commandLine };
  const { exit, env, host, transport } = given;
  const debug = given.debug ?? env === "development";
  const reload = exit && given.reload;
  if (!exit) refuseProcesses(options);
  const several = exit && !reload;
  const workers = several
    ? (given.workers ?? (env === "production" && !debug ? nodeOs().availableParallelism() : 1))
    : 1;
  const http2 = planHttp2(commandLine.http2, options.http2, environment.http2);
  if (http2 !== null && transport === "node") {
    throw new ValueError('http2 cannot be used with `transport: "node"`, which speaks HTTP/1.1 only');
  }
  if (transport === "native" && (http2 !== null || given.tls)) {
    throw new ValueError(
      'http2 and tls cannot be used with `transport: "native"`: they need the sockets of Node ("auto")',
    );
  }
  const addressed = commandLine.host !== undefined || commandLine.port !== undefined;
  return {
    settings: {
      env,
      debug,
      logs: given.logs ?? (debug ? true : undefined),
      requestTimeout: given.requestTimeout,
      validateLimit: given.validateLimit,
      workers,
      host,
      maxBodyMemory: given.maxBodyMemory,
      // Of the options alone: the command line and the environment override them.
      idle: [...runOptions.idle({ ...defaults, ...options }), ...http2Options.idle(http2)],
      ...(given.name !== undefined && { name: given.name }),
    },
    address: { host, port: given.port, ...(given.path !== undefined && !addressed && { path: given.path }) },
    reload,
    transport,
    tls: given.tls ?? null,
    http2,
    limits: limitsOf(given),
    shutdownTimeout: given.shutdownTimeout,
    drainDelay: given.drainDelay,
    stuckTimeout: given.stuckTimeout ?? (debug && workers === 1 ? 0 : 30),
    refuseDeadlyRoutes: given.refuseDeadlyRoutes,
    unhandledRejections: given.unhandledRejections,
    banner: given.banner ?? exit,
  };
}

function refuseProcesses(options: Partial<RunFields>): void {
  if ((options.workers ?? 1) > 1 || options.reload) {
    throw new ValueError("workers and reload start other processes: they cannot be used with `exit: false`");
  }
}

function limitsOf(given: RunFields): ServerLimits {
  const names = Object.keys(limitFields) as (keyof ServerLimits)[];
  return Object.fromEntries(names.map((name) => [name, given[name]])) as unknown as ServerLimits;
}
