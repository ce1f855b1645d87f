import type { Links } from "./banner.js";
import type { ListenAddress } from "./transport.js";

/** The messages of a process to the supervisor or the reloader that started it. */
export type ChildMessage =
  | { readonly stoa: "ready"; readonly address: ListenAddress; readonly links: Links }
  /** It could not start; `code` is true when a change of the program's code may help. */
  | { readonly stoa: "failed"; readonly reason: string; readonly code: boolean }
  /** It drains and will exit: it is to be replaced. `told` is true if a signal told it to. */
  | { readonly stoa: "leaving"; readonly told: boolean }
  /** Its event loop has turned; `inspected` is true while a debugger is attached. */
  | { readonly stoa: "turn"; readonly inspected: boolean }
  | Publication;

/** The messages of a supervisor to its workers. */
export type ParentMessage =
  /** The worker that takes the place of this one, which leaves, is ready. */
  { readonly stoa: "replaced" } | Publication;

interface Publication {
  readonly stoa: "publish";
  readonly topic: string;
  readonly data: unknown;
}

/** The way in which one of our own processes started this one. */
export interface ChildRole {
  readonly role: "worker" | "reload";
  /** The port that the others have, if any free one was requested. */
  readonly port: number | null;
  /** True if it replaces one that served before. */
  readonly again: boolean;
  /** The id of the process that started it. */
  readonly parent: number;
  /** The descriptor for a report of the watchdog; null if there is none. */
  readonly report: number | null;
}

export interface ParentLink extends ChildRole {
  send(message: ChildMessage): Promise<void>;
  /** Waits until the supervisor has one in the place of this process, for so many milliseconds at most. */
  replaced(milliseconds: number): Promise<void>;
  /** The parent has died. */
  onLost(callback: () => void): void;
}

const variable = "STOA_PROCESS";

/** The environment of a child process in the given role. */
export function childEnvironment(role: ChildRole): Record<string, string> {
  return { [variable]: JSON.stringify(role) };
}

/** The link to the parent, or null in a process that another program started. */
export const parentLink: ParentLink | null = openLink();

export function isChildMessage(message: unknown): message is ChildMessage {
  return typeof message === "object" && message !== null && "stoa" in message;
}

function openLink(): ParentLink | null {
  const text = process.env[variable];
  // A process that this one starts in turn is not the parent's child.
  delete process.env[variable];
  if (text === undefined || !process.send) return null;
  const role = JSON.parse(text) as ChildRole;
  return {
    ...role,
    send: (message) =>
      new Promise((resolve) => {
        // A lost parent is reported through `onLost`.
        if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
        else resolve();
      }),
    replaced: (milliseconds) =>
      new Promise((resolve) => {
        setTimeout(resolve, milliseconds);
        process.once("disconnect", resolve);
        process.on("message", (message) => {
          if ((message as ParentMessage | null)?.stoa === "replaced") resolve();
        });
      }),
    onLost: (callback) =>
      void (role.role === "worker" ? onSupervisorLost(callback) : process.once("disconnect", callback)),
  };
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
