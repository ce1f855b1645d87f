import type { Logger } from "../../kit/logger.js";
import { ValueError } from "../../kit/value-error.js";
import { machineId } from "../../server/process/machine.js";
import type { Rooms } from "../rooms/rooms.js";

/** The processes that share a port: a supervisor with its workers, or one alone. */
export interface Machine {
  readonly id: string;
  readonly version: string | null;
  /** When the first of its processes began to serve, in milliseconds. */
  readonly since: number;
  readonly processes: readonly number[];
}

/** A process as it shows itself to the others. */
interface Member extends Omit<Machine, "processes"> {
  readonly process: number;
}

const room = "stoa:machines";

/** The machines of an application: each process is a member of a room, and is told there to drain. */
export class Machines {
  readonly #rooms: Rooms;
  readonly #version: string | null;
  readonly #logger: Logger;
  readonly #ending = new AbortController();
  #drain = (): void => {};
  readonly self = machineId();

  constructor(rooms: Rooms, version: string | undefined, logger: Logger) {
    this.#rooms = rooms;
    this.#version = version ?? null;
    this.#logger = logger;
  }

  /** Appears in the list until the end. `drain` ends this machine. */
  begin(drain: () => void): void {
    this.#drain = drain;
    const self: Member = {
      id: this.self,
      version: this.#version,
      since: Date.now(),
      process: process.pid,
    };
    const hear = (told: { readonly drain: string; readonly process: number }): void => {
      // One of its processes: a second signal would end all of them at once.
      if (told.drain !== this.self || told.process !== process.pid) return;
      try {
        drain();
      } catch (error) {
        this.#logger.warn("an operator asked to drain this machine", { error });
      }
    };
    void this.#rooms.listen(room, hear, this.#ending.signal, "the list of machines is not available", self);
  }

  async list(): Promise<Machine[]> {
    const { members } = await this.#rooms.members(room);
    const machines = new Map<string, Machine>();
    for (const { process: pid, ...shown } of members.map(({ info }) => info as Member)) {
      const { since = shown.since, processes = [] } = machines.get(shown.id) ?? {};
      const all = [...processes, pid].sort((a, b) => a - b);
      machines.set(shown.id, { ...shown, since: Math.min(since, shown.since), processes: all });
    }
    return [...machines.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  async drain(id: string): Promise<void> {
    if (id === this.self) {
      this.#drain();
      return;
    }
    const machine = (await this.list()).find((each) => each.id === id);
    if (machine === undefined) throw new ValueError(`the machine ${id} is not in the list any more`);
    this.#rooms.post(room, { drain: id, process: machine.processes[0] });
  }

  end(): void {
    this.#ending.abort();
  }
}
