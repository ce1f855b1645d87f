import type { Worker } from "node:cluster";
import { deferred } from "../../kit/deferred.js";
import { within } from "../../kit/time/within.js";
import { ExchangeError, isFrame, type SupervisorMessage, type WorkerMessage } from "./messages.js";
import type { HubServices, HubWorker } from "./service.js";
import { Outbox } from "./unsent.js";

/** Milliseconds in which a worker must reply to a question. */
const answerWithin = 4000;

/** The supervisor's side of the exchange with its workers. The services are loaded when the first worker needs one. */
export class Hub {
  readonly #load: () => Promise<HubServices>;
  readonly #failed: (message: string, error: unknown) => void;
  #loading: Promise<HubServices> | null = null;
  #services: HubServices | null = null;

  /** `failed` is told of errors that no worker can be told of. */
  constructor(load: () => Promise<HubServices>, failed: (message: string, error: unknown) => void) {
    this.#load = load;
    this.#failed = failed;
  }

  /** Handles the messages of a worker until it ends. */
  attach(worker: Worker): void {
    const member = new Member(worker, () => {
      this.#leave(member, this.#services ?? {}, "lost");
    });
    worker.on("message", (message: unknown) => {
      if (isFrame(message)) this.#hear(member, message.messages);
    });
    worker.once("exit", () => {
      member.end();
      // Messages that are still being waited for are handled first: they may have joined it to a service.
      void this.#loading?.then(
        (services) => this.#leave(member, services, "leave"),
        () => undefined,
      );
    });
  }

  /** An error in one service concerns neither the others nor the process. */
  #leave(member: Member, services: HubServices, how: "leave" | "lost"): void {
    for (const [name, service] of Object.entries(services)) {
      try {
        service[how]?.(member.of(name));
      } catch (error) {
        this.#failed(`the state of '${name}' could not forget a worker`, error);
      }
    }
  }

  #hear(member: Member, messages: readonly WorkerMessage[]): void {
    if (this.#services !== null) {
      for (const message of messages) this.#handle(member, message, this.#services);
      return;
    }
    this.#loading ??= this.#load();
    this.#loading.then(
      (services) => {
        this.#services = services;
        for (const message of messages) this.#handle(member, message, services);
      },
      (error: unknown) => {
        for (const message of messages) if (message[0] > 0) member.reply(message[0], 0, textOf(error));
      },
    );
  }

  #handle(member: Member, message: WorkerMessage, services: HubServices): void {
    if (message[0] < 0) {
      member.answered(message[0], message[1]);
      return;
    }
    const [id, name, data] = message as Extract<WorkerMessage, readonly [unknown, unknown, unknown]>;
    const fail = (error: unknown): void => {
      if (id > 0) member.reply(id, 0, textOf(error));
    };
    const succeed = (value: unknown): void => {
      if (id > 0) member.reply(id, 1, value);
    };
    // A worker makes sure that its messages so far have been handled.
    if (name === "") {
      succeed(null);
      return;
    }
    try {
      const service = Object.hasOwn(services, name) ? services[name] : undefined;
      if (service === undefined) throw new ExchangeError(`the supervisor has no service '${name}'`);
      const result = service.hear(member.of(name), data as never);
      if (result instanceof Promise) result.then(succeed).catch(fail);
      else succeed(result);
    } catch (error) {
      fail(error);
    }
  }
}

/** One worker. */
class Member {
  readonly #outbox: Outbox<SupervisorMessage>;
  /** Questions without a reply: the functions that take it. */
  readonly #questions = new Map<number, (answer: unknown) => void>();
  readonly #faces = new Map<string, HubWorker>();
  readonly #onLost: () => void;
  #lastQuestion = 0;
  #ended = false;
  #restarting = false;

  /** `onLost` is called when messages were dropped, because the worker does not read. */
  constructor(worker: Worker, onLost: () => void) {
    this.#onLost = onLost;
    this.#outbox = new Outbox((frame, done) => {
      // A worker that has just died has no channel; its exit is seen anyway.
      if (worker.isConnected()) worker.send(frame, done);
      else done();
    });
  }

  /** The worker for one service. */
  of(service: string): HubWorker {
    let face = this.#faces.get(service);
    if (face === undefined) {
      face = {
        tell: (data, weight) => this.#add([0, service, data], weight),
        ask: (data) => this.#ask(service, data),
      };
      this.#faces.set(service, face);
    }
    return face;
  }

  /** A reply that is too large for what waits already fails alone. */
  reply(id: number, isFine: 0 | 1, value: unknown): void {
    if (this.#ended || this.#outbox.add([id, isFine, value])) return;
    this.#add([id, 0, "too many messages wait for this worker"]);
  }

  answered(id: number, answer: unknown): void {
    this.#questions.get(id)?.(answer);
    this.#questions.delete(id);
  }

  end(): void {
    this.#ended = true;
    for (const id of this.#questions.keys()) this.answered(id, undefined);
  }

  #add(message: SupervisorMessage, weight?: number): void {
    if (this.#ended || this.#outbox.add(message, weight) || this.#restarting) return;
    this.#restarting = true;
    queueMicrotask(() => this.#restart());
  }

  /** Starts over with a worker that does not read: it learns so when it reads again. No service has an empty name. */
  #restart(): void {
    this.#restarting = false;
    this.#outbox.clear();
    this.#add([0, "", null]);
    this.#onLost();
  }

  #ask(service: string, data: unknown): Promise<unknown> {
    if (this.#ended) return Promise.resolve(undefined);
    const id = --this.#lastQuestion;
    const { promise, resolve } = deferred<unknown>();
    this.#questions.set(id, resolve);
    this.#add([id, service, data]);
    return within(promise, answerWithin, () => {
      this.#questions.delete(id);
      throw new ExchangeError(`a worker has not replied within ${answerWithin / 1000} seconds`);
    });
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
