import type { Database } from "../../engines/db/database.js";
import { databaseOf } from "../../engines/db/feature.js";
import { messagingState } from "../../engines/messaging/state.js";
import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { notStarted } from "../../kit/before-start.js";
import { options as declare, type OptionsOf, option } from "../../kit/config.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import type { Duration } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { enabledEventStore } from "../events/feature.js";
import type { SagaAdmin } from "./admin.js";
import { SagaConfig, type SagaOptions } from "./config.js";
import type { SagaDefinition } from "./definition.js";
import type { SagaInfo } from "./info.js";
import type { Sagas } from "./sagas.js";
import type { WaitSources } from "./sources.js";
import type { StartOptions } from "./storage.js";

export interface SagaFeature {
  /** Runs sagas, whose steps survive the end of a process. Needs `enableDatabase()`: PostgreSQL, or PGlite. */
  enableSaga(
    maxRetriesOrOptions?: number | ConfigOf<"SagaConfig"> | EitherSpelling<SagaOptions> | null,
    timeoutMs?: Duration,
  ): this;
  /** Makes a definition known to this application, with those of its children, and returns the handle that starts it. */
  saga<Input, Results, Given>(definition: SagaDefinition<Input, Results, Given>): SagaHandle<Given, Results>;
  /** The executions: start, signal; for operators: list, log, resume, skip, abort. */
  readonly sagas: SagaAdmin;
}

/** An execution with the types of its definition. */
export interface SagaRun<Results> extends Omit<SagaInfo, "results"> {
  /** The results of all steps of a saga that is completed; those of the steps that were done, of another. */
  readonly results: Results;
}

const waitOptions = declare("wait()", {
  /** Time after which the call returns null. Default 10 seconds. */
  timeoutMs: option.milliseconds("10s"),
  /** The call returns null when it is aborted. */
  signal: option(is.signal),
});

export interface SagaHandle<Input, Results = unknown> {
  /** Starts an execution and returns its id, at once: the steps run in the background. */
  start(input: Input, options?: StartOptions): Promise<string>;
  /** Waits until an execution has ended or is parked; null if the time (default 10 seconds) is over first. */
  wait(id: string, options?: OptionsOf<typeof waitOptions.fields>): Promise<SagaRun<Results> | null>;
}

interface State {
  config: SagaConfig | null;
  readonly definitions: Set<SagaDefinition>;
  sagas: Sagas | null;
  /** Null until the application consumes messages. */
  sources: WaitSources | null;
}

const stateOf = perHost((): State => ({ config: null, definitions: new Set(), sagas: null, sources: null }));

export const sagaFeature = feature<SagaFeature>({
  name: "sagas",
  setup: {
    enableSaga(host, ...given) {
      stateOf(host).config = SagaConfig.from(given);
    },
  },
  methods: {
    saga<Input, Results, Given>(
      host: Host,
      definition: SagaDefinition<Input, Results, Given>,
    ): SagaHandle<Given, Results> {
      if (definition?.kind !== "saga") throw new ValueError("app.saga() takes a definition made by saga()");
      if (definition.units.length === 0) throw new ValueError(`the saga "${definition.name}" has no steps`);
      const state = stateOf(host);
      const plain = definition as unknown as SagaDefinition;
      if (state.sagas === null) state.definitions.add(plain);
      else addLate(host, state, state.sagas.add(plain));
      return {
        start: async (input, options) => sagasOf(host).start(plain, input, options),
        wait: async (id, given) => {
          const { timeoutMs, signal } = waitOptions.read([given]);
          return (await sagasOf(host).wait(id, timeoutMs, signal)) as SagaRun<Results> | null;
        },
      };
    },
  },
  values: { sagas: (host) => sagasOf(host).admin },
  async prepare(host) {
    const { config } = stateOf(host);
    if (config === null) return;
    const { prepareSagas } = await import("./operations.js");
    prepareSagas(host, config, () => sagasOf(host));
  },
  async open(host) {
    const { config, definitions } = stateOf(host);
    if (config === null) {
      if (definitions.size > 0) throw new Error("app.saga() needs app.enableSaga()");
      return;
    }
    const db: Database = databaseOf(host, "enableSaga()");
    const { Sagas } = await import("./sagas.js");
    const sagas = new Sagas(db, config, host.logger, host.tracer, definitions);
    await sagas.open();
    stateOf(host).sagas = sagas;
  },
  async ready(host) {
    const state = stateOf(host);
    if (state.sagas === null) return;
    const { WaitSources } = await import("./sources.js");
    const places = { messaging: messagingState(host).messaging, events: enabledEventStore(host) };
    state.sources = new WaitSources(state.sagas, places, host.logger);
    await state.sources.add(state.sagas.definitions);
  },
  drain: (host) => stateOf(host).sagas?.drain(),
  close: (host) => stateOf(host).sagas?.close(),
});

/** Gives a definition that was added to a running application its messages. */
function addLate(host: Host, { sources }: State, added: readonly SagaDefinition[]): void {
  sources?.add(added).catch((error: unknown) => host.logger.error("a saga cannot wait for its messages", { error }));
}

/** The sagas of an application that has started; null if it has none. */
export function startedSagas(host: Host): Sagas | null {
  return stateOf(host).sagas;
}

function sagasOf(host: Host): Sagas {
  const { sagas, config } = stateOf(host);
  if (config === null) throw new Error("app.sagas needs app.enableSaga()");
  if (sagas === null) throw new Error(notStarted("a saga"));
  return sagas;
}
