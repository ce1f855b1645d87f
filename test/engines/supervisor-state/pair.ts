import type { Worker } from "node:cluster";
import { EventEmitter } from "node:events";
import { Hub } from "../../../src/server/worker-messages/hub.js";
import { Link } from "../../../src/server/worker-messages/link.js";
import type { SupervisorMessage } from "../../../src/server/worker-messages/messages.js";
import type { HubServices } from "../../../src/server/worker-messages/service.js";

/** A worker in the same process, with its link to a hub. */
export class PairedWorker extends EventEmitter {
  readonly link: Link;
  /** True while it reads nothing: frames wait as they do in a channel. */
  stuck = false;
  /** True once it was killed. */
  dead = false;
  readonly #waiting: (() => void)[] = [];

  constructor(replyWithin?: number) {
    super();
    this.link = new Link((frame, done) => {
      const copy: unknown = JSON.parse(JSON.stringify(frame));
      setImmediate(() => {
        if (!this.dead) this.emit("message", copy);
        done();
      });
    }, replyWithin);
  }

  isConnected(): boolean {
    return !this.dead;
  }

  send(frame: { readonly messages: readonly SupervisorMessage[] }, done: () => void): void {
    const copy = JSON.parse(JSON.stringify(frame)) as typeof frame;
    const take = (): void => {
      if (!this.dead) this.link.hear(copy.messages);
      done();
    };
    if (this.stuck) this.#waiting.push(take);
    else setImmediate(take);
  }

  wake(): void {
    this.stuck = false;
    for (const take of this.#waiting.splice(0)) take();
  }

  kill(): void {
    this.dead = true;
    this.emit("exit");
  }
}

/** A supervisor with so many workers, all in this process. */
export function paired(
  services: HubServices,
  count: number,
  replyWithin?: number,
  failed: (message: string, error: unknown) => void = (_message, error) => {
    throw error;
  },
): PairedWorker[] {
  const hub = new Hub(async () => services, failed);
  return Array.from({ length: count }, () => {
    const worker = new PairedWorker(replyWithin);
    hub.attach(worker as unknown as Worker);
    return worker;
  });
}
