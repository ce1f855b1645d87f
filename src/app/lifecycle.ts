import { AsyncLocalStorage } from "node:async_hooks";
import type { Feature } from "../feature/feature.js";
import type { Host, Phase } from "../feature/host.js";
import { ValueError } from "../kit/value-error.js";
import type { Place } from "../routing/places.js";
import type { HubServices } from "../server/worker-messages/service.js";
import { isFirstWorker } from "./store-registry.js";

export type LifecycleEvent = "startup" | "shutdown";
export type Hook = () => unknown;

/**
 * The order of start and stop. At start features open, then the startup hooks run, then features begin their work. At stop
 * the shutdown hooks run in reverse, then the opened features close in reverse.
 */
export class Lifecycle {
  readonly #hooks: Record<LifecycleEvent, { hook: Hook; place: Place }[]> = { startup: [], shutdown: [] };
  readonly #features: Feature[];
  readonly installed: Feature[] = [];
  readonly #opened: Feature[] = [];
  #starting: Promise<void> | null = null;
  #draining: Promise<void> | null = null;
  #stopping: Promise<boolean> | null = null;
  #phase: Phase = "new";
  /** Set while the startup hooks run: it knows the calls that come from one of them. */
  #insideHook: AsyncLocalStorage<true> | null = null;

  constructor(features: readonly Feature[]) {
    this.#features = [...features];
  }

  /**
   * Adds a feature from outside: an engine behind the other engines, so that it is open while the features that use it run;
   * any other one before the last, which documents the routes of all others.
   */
  install(feature: Feature): void {
    const place = feature.isEngine ? this.#features.findLastIndex(({ isEngine }) => isEngine) + 1 : -1;
    this.#features.splice(place, 0, feature);
    this.installed.push(feature);
  }

  /** The state that the supervisor keeps for its workers, of all features. */
  async services(): Promise<HubServices> {
    const all = await Promise.all(this.#features.map((feature) => feature.services?.()));
    return Object.assign({}, ...all);
  }

  get phase(): Phase {
    return this.#phase;
  }

  add(event: string, hook: Hook, place: Place): void {
    if (event !== "startup" && event !== "shutdown") {
      throw new ValueError(`onEvent takes 'startup' or 'shutdown', not ${JSON.stringify(event)}`);
    }
    if (typeof hook !== "function") throw new ValueError(`the ${event} hook must be a function`);
    this.#hooks[event].push({ hook, place });
  }

  /** Prepares, opens and runs the startup hooks, once; the first failure ends the start. */
  start(host: Host, compile: () => void | Promise<void>): Promise<void> {
    return (this.#starting ??= this.#start(host, compile));
  }

  /** Throws in a startup hook, for a call that waits for the start to end: the start waits for the hook. */
  assertOutsideHook(call: string): void {
    if (this.#insideHook?.getStore() !== true) return;
    throw new Error(`${call} in a startup hook would never end: it waits for the start, and the start for the hook`);
  }

  /** Makes readiness fail; nothing else changes yet. */
  announceDrain(): void {
    if (this.#phase === "started") this.#phase = "draining";
  }

  /** Informs the features that the server drains. Never rejects; `stop` waits for it. */
  drain(host: Host): Promise<void> {
    this.announceDrain();
    return (this.#draining ??= this.#drain(host));
  }

  /**
   * Ends the application, once. Each hook and each feature has its turn; false when one of them has failed. Before the
   * start there is nothing to end, and nothing is remembered: an application that is started later can still be ended.
   */
  stop(host: Host): Promise<boolean> {
    if (this.#starting === null) return Promise.resolve(true);
    return (this.#stopping ??= this.#stop(host, this.#starting));
  }

  /** The part of the start that connects nothing: routes and settings are final after it. */
  async prepare(host: Host, compile: () => void | Promise<void>): Promise<void> {
    this.#phase = "starting";
    for (const feature of this.#features) {
      const preparing = feature.prepare?.(host);
      if (preparing) await preparing;
    }
    await compile();
    const reviews = this.#features.flatMap((feature) => feature.review?.(host) ?? []).filter((line) => line !== false);
    const doubts = [...(host.settings.idle ?? []), ...reviews];
    if (doubts.length > 0 && (await isFirstWorker())) for (const line of doubts) host.logger.warn(line);
  }

  async #start(host: Host, compile: () => void | Promise<void>): Promise<void> {
    await this.prepare(host, compile);
    try {
      for (const feature of this.#features) {
        // Closed even if it fails to open: a pool may have opened half of its connections.
        this.#opened.push(feature);
        const opening = feature.open?.(host);
        if (opening) await opening;
      }
      if (this.#hooks.startup.length > 0) await this.#runStartupHooks(host);
      for (const feature of this.#features) {
        const beginning = feature.ready?.(host);
        if (beginning) await beginning;
      }
    } catch (error) {
      // Workers that have begun end before what they use.
      await this.drain(host);
      await this.#close(host);
      throw error;
    }
    this.#phase = "started";
  }

  async #runStartupHooks(host: Host): Promise<void> {
    const inside = new AsyncLocalStorage<true>();
    this.#insideHook = inside;
    try {
      for (const { hook, place } of this.#hooks.startup) {
        const name = (): string => `the startup hook${hook.name && ` ${hook.name}`} (${place() ?? "of the framework"})`;
        const stop = remindOf(host, name);
        try {
          await inside.run(true, hook);
        } finally {
          stop();
        }
      }
    } finally {
      this.#insideHook = null;
      // Otherwise every promise of the application would carry its value permanently.
      inside.disable();
    }
  }

  async #drain(host: Host): Promise<void> {
    await Promise.all(
      this.#opened.map((feature) => settle(host, `draining the ${feature.name}`, () => feature.drain?.(host))),
    );
  }

  async #stop(host: Host, starting: Promise<void>): Promise<boolean> {
    await starting.catch(() => {});
    await this.drain(host);
    this.#phase = "stopped";
    let well = true;
    for (const { hook } of this.#hooks.shutdown.toReversed())
      well = (await settle(host, "a shutdown hook", hook)) && well;
    return (await this.#close(host)) && well;
  }

  async #close(host: Host): Promise<boolean> {
    let well = true;
    for (const { name, close } of this.#opened.splice(0).reverse()) {
      if (close) well = (await settle(host, `closing the ${name}`, () => close(host))) && well;
    }
    return well;
  }
}

/** Says what the start waits for: after 10 seconds, then with pauses that double. */
function remindOf({ logger }: Host, name: () => string): () => void {
  let timer: NodeJS.Timeout;
  const wait = (pause: number, seconds: number): void => {
    timer = setTimeout(() => {
      logger.warn(`${name()} has not ended after ${seconds} s; the start waits for it`);
      wait(pause * 2, seconds + pause * 2);
    }, pause * 1000).unref();
  };
  wait(10, 10);
  return () => clearTimeout(timer);
}

async function settle(host: Host, what: string, run: () => unknown): Promise<boolean> {
  try {
    await run();
    return true;
  } catch (error) {
    host.logger.error(`${what} failed`, { error });
    return false;
  }
}
