import { expect, it, vi } from "vitest";
import { supervisorServices } from "../../../src/engines/supervisor-state/services.js";
import { paired } from "./pair.js";

const policy = { name: "p", kind: "token_bucket", windowMs: 1000, maxKeys: 10 };
const circuit = { route: "/", failureThreshold: 1, resetMs: 1000, halfOpenTarget: 1 };

/** Sent first, so that a call finds its state. */
const beginnings: readonly [service: string, data: unknown][] = [
  ["rooms", ["limits", { history: 10, keepMs: 1000, maxRooms: 10 }]],
  ["rooms", ["watch", "r"]],
  ["rooms", ["watchMembers", "r"]],
  ["rate limit", ["policy", 1, policy]],
  ["circuits", ["join", 1, circuit]],
  ["sessions", ["watch"]],
  ["revoked tokens", ["join"]],
  ["cache", ["join"]],
];

/** Calls with fitting arguments. */
const calls: readonly [service: string, data: readonly unknown[]][] = [
  ["rooms", ["limits", { history: 10, keepMs: 1000, maxRooms: 10 }]],
  ["rooms", ["watch", "r"]],
  ["rooms", ["watchMembers", "r"]],
  ["rooms", ["unwatch", "q"]],
  ["rooms", ["send", "r", "text"]],
  ["rooms", ["since", "r", 0]],
  ["rooms", ["enter", "r", { id: "x", info: "i" }]],
  ["rooms", ["exit", "r", "x"]],
  ["rooms", ["members", "r", 10]],
  ["rate limit", ["policy", 2, policy]],
  ["rate limit", ["take", 1, "key", 100, 10]],
  ["rate limit", ["renew", 1, "key", 100, 10]],
  ["rate limit", ["used", 1, "key", 1]],
  ["rate limit", ["back", 1, "key", 1]],
  ["circuits", ["join", 2, circuit]],
  ["circuits", ["admit", 1]],
  ["circuits", ["report", 1, 1, "success"]],
  ["circuits", ["snapshot", 1]],
  ["sessions", ["limits", 10, 10_000]],
  ["sessions", ["get", "k"]],
  ["sessions", ["set", "k", { created: 1, active: 1, data: {}, owner: "u" }, 10]],
  ["sessions", ["touch", "k", { created: 1, active: 1, data: {} }, 10]],
  ["sessions", ["destroy", "k"]],
  ["sessions", ["list", "u"]],
  ["sessions", ["destroyAll", "u"]],
  ["revoked tokens", ["add", "id", 9, 9, "sub"]],
  ["revoked tokens", ["add", "id", 9, 9, null]],
  ["cache", ["remove", "k"]],
  ["cache", ["invalidate", "tag"]],
];

const joined = async (failed: (message: string, error: unknown) => void) => {
  const workers = paired(supervisorServices(), 2, undefined, failed);
  for (const { link } of workers) {
    for (const name of ["rate limit", "circuits", "rooms", "sessions", "revoked tokens", "cache"]) {
      link.serve(name, { hear: () => 0, resync: () => {} });
    }
    for (const [service, data] of beginnings) await link.ask(service, data);
  }
  return workers;
};

it("The supervisor takes every call with fitting arguments", async () => {
  const [worker] = await joined(() => {});
  for (const [service, data] of calls) await worker!.link.ask(service, data);
});

it.each(calls)(
  "The supervisor refuses a call of '%s' with any other argument, and stores nothing of it: %j",
  async (service, data) => {
    const failed = vi.fn();
    const [worker, other] = await joined(failed);
    for (const wrong of wrongOnes(data)) {
      await expect(worker!.link.ask(service, wrong), JSON.stringify(wrong)).rejects.toThrow(
        /cannot be read|not announced/,
      );
    }
    worker!.kill();
    expect(await other!.link.ask("rooms", ["members", "r", 10])).toEqual({ count: 0, members: [] });
    expect(failed).not.toHaveBeenCalled();
  },
);

/** The call with one argument missing, of another type, or with another property. */
function wrongOnes(data: readonly unknown[]): unknown[][] {
  const replaced = (at: number, value: unknown): unknown[] => data.map((item, i) => (i === at ? value : item));
  return data.flatMap((item, at) => {
    if (at === 0) return [];
    const properties = Object.keys(typeof item === "object" && item !== null ? item : {});
    const read = properties.filter((name) => name !== "created" && name !== "active");
    return [
      replaced(at, []),
      ...(at === 4 && data[0] === "add" ? [] : [replaced(at, null)]),
      ...read.map((name) => replaced(at, { ...(item as object), [name]: null })),
    ];
  });
}
