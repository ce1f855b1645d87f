import { type OptionsOf, option, options } from "../../../kit/config.js";
import { type Check, is, show } from "../../../kit/options.js";
import { type Duration, isDuration, seconds } from "../../../kit/time/duration.js";
import { ValueError } from "../../../kit/value-error.js";
import { GrpcStatus, type GrpcStatusCode, type GrpcStatusName } from "../status.js";
import { type RetryPolicy, RetryThrottle } from "./retries.js";

/** Attempts of one call, whatever its policy says (gRFC A6, "Maximum Number of Retries"). */
const mostAttempts = 5;

const isStatus: Check<GrpcStatusName | GrpcStatusCode> = (value) =>
  value !== "OK" &&
  value !== 0 &&
  (Object.hasOwn(GrpcStatus, String(value)) || Object.values(GrpcStatus).includes(value as 1))
    ? undefined
    : "the name or the number of a status, such as UNAVAILABLE";

const isStatuses: Check<readonly (GrpcStatusName | GrpcStatusCode)[]> = (value) =>
  Array.isArray(value) && value.length === 0 ? "a list of at least one status" : is.list(isStatus)(value);

function codesOf(given: readonly (GrpcStatusName | GrpcStatusCode)[]): ReadonlySet<number> {
  return new Set(given.map((status) => (typeof status === "string" ? GrpcStatus[status] : status)));
}

const inMilliseconds = (given: Duration): number => seconds(given) * 1000;

/** Its length is one byte on the wire. */
const isHealthName: Check<string> = (value) =>
  typeof value === "string" && Buffer.byteLength(value) < 128 ? undefined : "text of at most 127 bytes";

const retryOptions = options("retryPolicy", {
  /** Attempts, with the first; more than 5 count as 5. */
  maxAttempts: option.required(is.integer(2), (given) => Math.min(given, mostAttempts)),
  /** Time before the second attempt. */
  initialBackoff: option.required(isDuration(0.001), inMilliseconds),
  /** Longest time between two attempts. */
  maxBackoff: option.required(isDuration(0.001), inMilliseconds),
  /** The factor by which the time grows with each attempt. */
  backoffMultiplier: option.required(is.number(0.001)),
  /** Statuses after which a call is repeated. */
  retryableStatusCodes: option.required(isStatuses, codesOf),
});

const hedgingOptions = options("hedgingPolicy", {
  /** Attempts, with the first; more than 5 count as 5. */
  maxAttempts: option.required(is.integer(2), (given) => Math.min(given, mostAttempts)),
  /** Time without a response after which the next attempt begins. Default 0: all begin at once. */
  hedgingDelay: option.made(isDuration(), inMilliseconds, 0),
  /** Statuses after which the other attempts continue, and the next one begins. Any other ends the call. */
  nonFatalStatusCodes: option.made(is.list(isStatus), codesOf, new Set() as ReadonlySet<number>),
});

const nameOptions = options("name", {
  /** The full name of a service; none for all services. */
  service: option(is.string, ""),
  /** The name of a method; none for all methods. */
  method: option(is.string, ""),
});

interface MethodName extends OptionsOf<typeof nameOptions.fields> {}
type GivenPolicy = {
  readonly [K in keyof OptionsOf<typeof retryOptions.fields>]-?: NonNullable<OptionsOf<typeof retryOptions.fields>[K]>;
};

interface GivenHedging extends OptionsOf<typeof hedgingOptions.fields> {
  readonly maxAttempts: number;
}

const methodOptions = options("methodConfig", {
  /** The methods: `{ service, method }`, `{ service }` for all of a service, `{}` for all. The most exact one holds. */
  name: option.required<readonly MethodName[], string[]>(is.list(is.object), (given) => given.map(keyOf)),
  /** Longest time of a call, from its start. A call can ask for less. */
  timeout: option.duration(null, "1ms", "24d"),
  /** Repeats failed calls. */
  retryPolicy: option.made(
    is.object as Check<GivenPolicy>,
    (given) => retryPolicyOf(retryOptions.read([given])),
    undefined as RetryPolicy | undefined,
  ),
  /** Sends a call several times, a bit after each other, and takes the first response. In place of `retryPolicy`. */
  hedgingPolicy: option.made(
    is.object as Check<GivenHedging>,
    (given) => hedgingPolicyOf(hedgingOptions.read([given])),
    undefined as RetryPolicy | undefined,
  ),
});

const throttlingOptions = options("retryThrottling", {
  /** Tokens at the start, and at most. Each failed call takes one; calls are repeated while more than half are left. */
  maxTokens: option.required(is.number(0.001, 1000)),
  /** Tokens that each call gives back that succeeds. */
  tokenRatio: option.required(is.number(0.001)),
});

type GivenThrottling = { readonly maxTokens: number; readonly tokenRatio: number };

type BalancingName = "pick_first" | "round_robin";
type Balancing = { readonly [name: string]: object };

const knownPolicy = (given: readonly Balancing[]): BalancingName | undefined =>
  given.flatMap(Object.keys).find((name) => name === "pick_first" || name === "round_robin") as
    | BalancingName
    | undefined;

const isBalancing: Check<readonly Balancing[]> = (value) =>
  is.list(is.object)(value) ??
  (knownPolicy(value as Balancing[]) === undefined
    ? "a list with { pick_first: {} } or { round_robin: {} }"
    : undefined);

const healthOptions = options("healthCheckConfig", {
  /** The name of a service at the health service; none for the server as a whole. */
  serviceName: option<string>(isHealthName, ""),
});

const configOptions = options("serviceConfig", {
  /** Settings of methods. */
  methodConfig: option.made(
    is.list(is.object) as Check<readonly OptionsOf<typeof methodOptions.fields>[]>,
    (given) => byName(given.map((one) => methodOptions.read([one]))),
    new Map() as ReadonlyMap<string, MethodConfig>,
  ),
  /** Which address of several a call goes to: `[{ round_robin: {} }]`. The first known policy holds; without one `pick_first`. */
  loadBalancingConfig: option.made(isBalancing, (given) => knownPolicy(given)!, "pick_first"),
  /** Asks the health service of each address; addresses that are not serving get no calls. For `round_robin`. */
  healthCheckConfig: option.made(
    is.object as Check<{ readonly serviceName?: string }>,
    (given): string | null => healthOptions.read([given]).serviceName,
    null,
  ),
  /** Stops retries to a server of which too many calls fail. */
  retryThrottling: option.made(
    is.object as Check<GivenThrottling>,
    (given): RetryThrottle | null => new RetryThrottle(throttlingOptions.read([given])),
    null,
  ),
});

/** A service config of gRPC: a JSON object that other implementations read too. */
export interface GrpcServiceConfig extends OptionsOf<typeof configOptions.fields> {}

/** Of one method. The time is in seconds. */
export interface MethodConfig {
  readonly timeout?: number | undefined;
  readonly retryPolicy?: RetryPolicy | undefined;
}

export interface ServiceConfigSettings {
  readonly methodConfig: ReadonlyMap<string, MethodConfig>;
  readonly retryThrottling: RetryThrottle | null;
  readonly loadBalancingConfig: BalancingName;
  /** The name of a service at the health service; null to ask for no health. */
  readonly healthCheckConfig: string | null;
}

export function readServiceConfig(given: GrpcServiceConfig): ServiceConfigSettings {
  return configOptions.read([given], "serviceConfig of GrpcChannel");
}

export function configOf({ methodConfig }: ServiceConfigSettings, service: string, method: string): MethodConfig {
  if (methodConfig.size === 0) return {};
  return methodConfig.get(`${service}/${method}`) ?? methodConfig.get(`${service}/`) ?? methodConfig.get("/") ?? {};
}

function keyOf(name: MethodName): string {
  const { service, method } = nameOptions.read([name]);
  if (service === "" && method !== "") throw new ValueError(`the name of method ${show(method)} needs its service`);
  return `${service}/${method}`;
}

interface GivenMethod extends MethodConfig {
  readonly name: readonly string[];
  readonly hedgingPolicy?: RetryPolicy | undefined;
}

function byName(configs: readonly GivenMethod[]): Map<string, MethodConfig> {
  const all = new Map<string, MethodConfig>();
  for (const { name, timeout, retryPolicy, hedgingPolicy } of configs) {
    if (retryPolicy && hedgingPolicy) throw new ValueError("methodConfig has either retryPolicy or hedgingPolicy");
    for (const key of name) {
      if (all.has(key)) throw new ValueError(`methodConfig has the name ${show(key)} twice`);
      all.set(key, { timeout, retryPolicy: retryPolicy ?? hedgingPolicy });
    }
  }
  return all;
}

/** The time varies by a fifth in both directions, as gRFC A6 says; the back-off of the kit takes its share off. */
function retryPolicyOf(given: ReturnType<typeof retryOptions.read>): RetryPolicy {
  return {
    attempts: given.maxAttempts,
    first: given.initialBackoff * 1.2,
    longest: given.maxBackoff * 1.2,
    factor: given.backoffMultiplier,
    jitter: 1 / 3,
    codes: given.retryableStatusCodes,
    onlySafe: false,
    hedgeAfter: null,
  };
}

function hedgingPolicyOf(given: ReturnType<typeof hedgingOptions.read>): RetryPolicy {
  const { maxAttempts: attempts, nonFatalStatusCodes: codes, hedgingDelay: hedgeAfter } = given;
  return { attempts, codes, hedgeAfter, first: 0, longest: 0, factor: 1, jitter: 0, onlySafe: false };
}
