import { processWide } from "../../kit/process-wide.js";
import type { Links } from "../banner.js";
import type { ListenAddress } from "../transport.js";

/** The messages of a process to the supervisor or the reloader that started it. */
export type ChildMessage =
  | { readonly stoa: "ready"; readonly address: ListenAddress; readonly links: Links }
  /** It could not start; `code` is true when a change of the program's code may help. */
  | { readonly stoa: "failed"; readonly reason: string; readonly code: boolean }
  /** It drains and will exit: it is to be replaced. `told` is true if a signal told it to. */
  | { readonly stoa: "leaving"; readonly told: boolean }
  /** Its event loop has turned; `inspected` is true while a debugger is attached. */
  | { readonly stoa: "turn"; readonly inspected: boolean }
  /** The supervisor is to listen at the address, and to hand connections over. */
  | { readonly stoa: "listen"; readonly key: string; readonly address: ListenAddress }
  /** It takes no more connections of this listener. */
  | { readonly stoa: "closed"; readonly key: string }
  /** The reply to a connection; `taken` is false if it was refused. */
  | { readonly stoa: "took"; readonly key: string; readonly taken: boolean }
  /** The program is loaded: it is to start once the processes before it have ended. */
  | { readonly stoa: "loaded" }
  /** The reloader is to keep the embedded database of a folder open. */
  | { readonly stoa: "keep"; readonly folder: string }
  /** It writes this file itself: no reason to restart. */
  | { readonly stoa: "wrote"; readonly path: string }
  | Publication;

/** The messages of a supervisor to its workers, and of a reloader to its child. */
export type ParentMessage =
  /** The processes before this one have ended. */
  | { readonly stoa: "alone" }
  /** The socket of a database that is kept open; null if it cannot be. */
  | { readonly stoa: "kept"; readonly server: string | null }
  /** The worker that takes the place of this one, which leaves, is ready. */
  | { readonly stoa: "replaced" }
  /** Another worker serves in the place of this one: it is to drain and exit. */
  | { readonly stoa: "leave" }
  | {
      readonly stoa: "listening";
      readonly key: string;
      /** Null if the address cannot be had. */
      readonly port: number | null;
      readonly error?: { readonly code: string; readonly message: string };
    }
  /** Comes with the handle of a connection. */
  | { readonly stoa: "connection"; readonly key: string }
  | Publication;

interface Publication {
  readonly stoa: "publish";
  readonly topic: string;
  readonly data: unknown;
}

/** The way in which one of our own processes started this one. */
export interface ChildRole {
  readonly role: "worker" | "reload";
  /** True if it replaces one that served before. */
  readonly again: boolean;
  /** The id of the process that started it. */
  readonly parent: number;
  /** The id of the machine, made by the first of these processes. */
  readonly machine: string;
  /** The descriptor for a report of the watchdog; null if there is none. */
  readonly report: number | null;
  /** The descriptor of the file that names the routes that run; null if there is none. */
  readonly routes: number | null;
  /** The descriptor of the memory that all workers share, and the number of this process there; null if there is none. */
  readonly memory: { readonly descriptor: number; readonly owner: number } | null;
  /** Routes that are refused from the start, because they killed workers. */
  readonly refused: readonly string[];
}

export interface ParentLink extends ChildRole {
  send(message: ChildMessage): Promise<void>;
  /** Waits until the reloader has ended the processes before this one. */
  alone(): Promise<void>;
  /** Asks the reloader to keep an embedded database open. Resolves to its socket; null if this process is to open it. */
  keep(folder: string): Promise<string | null>;
  /** Waits until the supervisor has one in the place of this process, for so many milliseconds at most. */
  replaced(milliseconds: number): Promise<void>;
  /** The supervisor has one in the place of this process, which is to end. */
  onLeave(callback: () => void): void;
  /** The parent has died. */
  onLost(callback: () => void): void;
}

const variable = "STOA_PROCESS";

/** The environment of a child process in the given role. */
export function childEnvironment(role: ChildRole): Record<string, string> {
  return { [variable]: JSON.stringify(role) };
}

/** The link to the parent, or null in a process that another program started. */
export const parentLink: ParentLink | null = processWide("parentLink", openLink);

/** True if all members of the message are as its kind says: code of the application can send anything. */
export function isChildMessage(message: unknown): message is ChildMessage {
  const given = (message ?? {}) as Record<string, unknown>;
  const { stoa: kind } = given;
  if (typeof kind !== "string" || !Object.hasOwn(childMessages, kind)) return false;
  return Object.entries(childMessages[kind as ChildMessage["stoa"]]).every(([name, check]) => check(given[name]));
}

const isText = (value: unknown): boolean => typeof value === "string";
const isFlag = (value: unknown): boolean => typeof value === "boolean";

/** The fields of each message, with their checks. */
const childMessages: Readonly<Record<ChildMessage["stoa"], Readonly<Record<string, (value: unknown) => boolean>>>> = {
  ready: { address: isAddress, links: isLinks },
  failed: { reason: isText, code: isFlag },
  leaving: { told: isFlag },
  turn: { inspected: isFlag },
  listen: { key: isText, address: isAddress },
  closed: { key: isText },
  took: { key: isText, taken: isFlag },
  loaded: {},
  keep: { folder: isText },
  wrote: { path: isText },
  publish: { topic: isText },
};

function isAddress(value: unknown): value is ListenAddress {
  const { host, port, path } = (value ?? {}) as Record<string, unknown>;
  const isPort = typeof port === "number" && Number.isInteger(port) && port >= 0 && port < 65_536;
  return typeof host === "string" && isPort && (path === undefined || typeof path === "string");
}

function isLinks(value: unknown): value is Links {
  const isLink = (link: unknown): boolean => Array.isArray(link) && link.every((part) => typeof part === "string");
  return Array.isArray(value) && value.every(isLink);
}

function openLink(): ParentLink | null {
  const text = process.env[variable];
  // A process that this one starts in turn is not the parent's child.
  delete process.env[variable];
  if (text === undefined || !process.send) return null;
  const role = JSON.parse(text) as ChildRole;
  const send = (message: ChildMessage): Promise<void> =>
    new Promise((resolve) => {
      // A lost parent is reported through `onLost`.
      if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
      else resolve();
    });
  return {
    ...role,
    send,
    async alone() {
      if (role.role !== "reload") return;
      const told = heard("alone");
      await send({ stoa: "loaded" });
      await told;
    },
    async keep(folder) {
      if (role.role !== "reload") return null;
      // One at a time: the replies name no folder.
      keeping = keeping.then(async () => {
        const told = heard("kept");
        await send({ stoa: "keep", folder });
        return (await told).server;
      });
      return keeping;
    },
    replaced: (milliseconds) =>
      new Promise((resolve) => {
        setTimeout(resolve, milliseconds);
        process.once("disconnect", resolve);
        void heard("replaced").then(() => resolve());
      }),
    onLeave: (callback) => void heard("leave").then(callback),
    onLost: (callback) =>
      void (role.role === "worker" ? onSupervisorLost(callback) : process.once("disconnect", callback)),
  };
}

let keeping: Promise<string | null> = Promise.resolve(null);

/** The next message of a kind. */
function heard<Kind extends ParentMessage["stoa"]>(kind: Kind): Promise<Extract<ParentMessage, { stoa: Kind }>> {
  return new Promise((resolve) => {
    const hear = (message: unknown): void => {
      if ((message as ParentMessage | null)?.stoa !== kind) return;
      process.off("message", hear);
      resolve(message as Extract<ParentMessage, { stoa: Kind }>);
    };
    process.on("message", hear);
  });
}

async function onSupervisorLost(callback: () => void): Promise<void> {
  const { default: cluster } = await import("node:cluster");
  const worker = cluster.worker;
  worker?.once("disconnect", () => {
    // Else node:cluster exits at once, with requests in flight.
    worker.exitedAfterDisconnect = true;
    callback();
  });
}
