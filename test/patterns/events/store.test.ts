import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { App } from "../../../src/app/app.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { causedBy } from "../../../src/patterns/events/cause.js";
import { ConcurrencyError, EventIdError, EventVersionError } from "../../../src/patterns/events/errors.js";
import { service } from "../../support/service.js";
import { counter, Order } from "./order.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");

describe.each(storeKinds(server))("the event store in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start();
  });
  afterAll(() => place.drop());
  const stream = (category = "account"): string => `${category}-${randomUUID()}`;
  const added = (n: number, id?: string) => ({ type: "Added", data: { n }, ...(id && { id }) });

  it("Appended events are read back in order, with their place, data and time", async () => {
    const name = stream();
    const result = await app.eventStore.append(name, [added(1), added(2)]);
    expect(result).toMatchObject({ version: 2, known: false });
    const events = await app.eventStore.read(name);
    expect(events.map(({ version, data, type }) => [version, data, type])).toEqual([
      [1, { n: 1 }, "Added"],
      [2, { n: 2 }, "Added"],
    ]);
    expect(events[1]!.position).toBe(result.position);
    expect(events[0]).toMatchObject({ stream: name, category: "account", schemaVersion: 1 });
    expect(events[0]!.recordedAt).toBeInstanceOf(Date);
    expect(await app.eventStore.streamVersion(name)).toBe(2);
    expect(await app.eventStore.read(stream())).toEqual([]);
  });

  it("A stream is read backwards, from a version on, up to a limit and page by page", async () => {
    const name = stream();
    await app.eventStore.append(
      name,
      Array.from({ length: 1203 }, (_, n) => added(n + 1)),
    );
    const versions = async (options: object): Promise<number[]> =>
      (await app.eventStore.read(name, options)).map(({ version }) => version);
    expect(await versions({ backwards: true, limit: 3 })).toEqual([1203, 1202, 1201]);
    expect(await versions({ backwards: true, from: 2 })).toEqual([2, 1]);
    expect(await versions({ from: 1202 })).toEqual([1202, 1203]);
    expect(await versions({ from: 1204 })).toEqual([]);
    expect(await versions({ limit: 0 })).toEqual([]);
    expect(await versions({})).toEqual(Array.from({ length: 1203 }, (_, n) => n + 1));
    expect((await versions({ backwards: true })).at(-1)).toBe(1);
    const seen: number[] = [];
    for await (const event of app.eventStore.read(name)) {
      seen.push(event.version);
      if (seen.length === 700) break;
    }
    expect(seen.at(-1)).toBe(700);
  });

  it.skipIf(kind === "memory")("Reading in a transaction shows the events that it has appended", async () => {
    const name = stream();
    await app.database.transaction(async (tx) => {
      await app.eventStore.append(name, added(1), { tx });
      expect(await app.eventStore.read(name, { tx })).toHaveLength(1);
    });
    expect(await app.eventStore.read(name)).toHaveLength(1);
  });

  it("Events of a category and of all streams are read in one order, in both directions", async () => {
    const category = `c${randomUUID().slice(0, 8)}`;
    const [a, b] = [stream(category), stream(category)];
    await app.eventStore.append(a, added(1));
    await app.eventStore.append(b, { type: "Other", data: null });
    await app.eventStore.append(a, added(2));
    const forwards = await app.eventStore.readCategory(category);
    expect(forwards.map((event) => [event.stream, event.version])).toEqual([
      [a, 1],
      [b, 1],
      [a, 2],
    ]);
    const backwards = await app.eventStore.readCategory(category, { backwards: true });
    expect(backwards.map(({ id }) => id)).toEqual(forwards.map(({ id }) => id).reverse());
    expect(await app.eventStore.readCategory(category, { types: ["Other"] })).toHaveLength(1);
    const after = await app.eventStore.readAll({ from: forwards[0]!.position });
    expect(after.map(({ id }) => id)).toEqual(forwards.slice(1).map(({ id }) => id));
    const latest = await app.eventStore.readAll({ backwards: true, limit: 2 });
    expect(latest.map(({ id }) => id)).toEqual([forwards[2]!.id, forwards[1]!.id]);
  });

  it("An append with a wrong expected version stores nothing and names the actual version", async () => {
    const name = stream();
    const { eventStore } = app;
    await eventStore.append(name, added(1), { expectedVersion: "none" });
    await eventStore.append(name, added(2), { expectedVersion: 1 });
    await eventStore.append(name, added(3), { expectedVersion: "exists" });
    for (const expectedVersion of ["none", 0, 2, 4] as const) {
      const error = await eventStore.append(name, added(9), { expectedVersion }).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(ConcurrencyError);
      expect(error).toMatchObject({ actualVersion: 3, expectedVersion, stream: name, status: 409 });
    }
    const absent = stream();
    for (const expectedVersion of ["exists", 1] as const) {
      const append = eventStore.append(absent, added(9), { expectedVersion });
      await expect(append).rejects.toMatchObject({ actualVersion: 0 });
    }
    expect(await eventStore.streamVersion(name)).toBe(3);
    expect(await eventStore.streamVersion(absent)).toBe(0);
  });

  it("Of fifty appends with one expected version exactly one is stored", async () => {
    const name = stream();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, (_, n) => app.eventStore.append(name, added(n), { expectedVersion: "none" })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as unknown] : []));
    expect(reasons.every((reason) => reason instanceof ConcurrencyError && reason.actualVersion === 1)).toBe(true);
    expect(await app.eventStore.streamVersion(name)).toBe(1);
  });

  it("The same event ids again store nothing, whatever version is expected", async () => {
    const name = stream();
    const events = [added(1, randomUUID()), added(2, randomUUID())];
    const first = await app.eventStore.append(name, events, { expectedVersion: "none" });
    await app.eventStore.append(name, added(3));
    const again = await app.eventStore.append(name, events, { expectedVersion: "none" });
    expect(again).toEqual({ version: 2, position: first.position, known: true });
    expect(await app.eventStore.streamVersion(name)).toBe(3);
  });

  it("Known ids together with new ones, or in another stream, are refused", async () => {
    const name = stream();
    const known = added(1, randomUUID());
    await app.eventStore.append(name, known);
    await expect(app.eventStore.append(name, [known, added(2)])).rejects.toThrow(EventIdError);
    await expect(app.eventStore.append(stream(), known)).rejects.toThrow(EventIdError);
    expect(await app.eventStore.streamVersion(name)).toBe(1);
  });

  it("Metadata holds the correlation and the cause, also those of the surroundings", async () => {
    const name = stream();
    await app.eventStore.append(name, added(1));
    await app.eventStore.append(
      name,
      { ...added(2), metadata: { user: "ada" } },
      { metadata: { correlationId: "c1" } },
    );
    await causedBy({ correlationId: "c2", causationId: "e7" }, () => app.eventStore.append(name, added(3)));
    const [first, second, third] = await app.eventStore.read(name);
    expect(first!.metadata).toEqual({ correlationId: first!.id });
    expect(second!.metadata).toEqual({ correlationId: "c1", user: "ada" });
    expect(third!.metadata).toEqual({ correlationId: "c2", causationId: "e7" });
  });

  it("Input that cannot be stored is refused with a message, and nothing is stored", async () => {
    const { eventStore } = app;
    const name = stream();
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const wrong: [unknown, string][] = [
      [[], "append takes at least one event"],
      [{ type: "", data: 1 }, "the type of an event must be a string of 1 to 255 characters"],
      [{ type: "A", data: circular }, 'the data of "A" cannot be written as JSON'],
      [{ type: "A", data: 1n }, 'the data of "A" cannot be written as JSON'],
      [{ type: "A", data: { a: [Promise.reject(new Error("left"))] } }, "result.a[0] is a promise"],
      [{ type: "A", data: () => 1 }, 'the data of "A" cannot be written as JSON'],
      [{ type: "A", data: { x: "\0" } }, "contains U+0000"],
      [{ type: "A", data: "\ud800" }, "half of a surrogate pair"],
      [{ type: "A", data: 1, id: "7" }, 'the id of an event must be a UUID, not "7"'],
      [null, "event 0 must be an object"],
    ];
    for (const [event, message] of wrong) {
      await expect(eventStore.append(name, event as never), message).rejects.toThrow(message);
    }
    const id = randomUUID();
    await expect(eventStore.append(name, [added(1, id), added(2, id)])).rejects.toThrow(
      "two of the events have the id",
    );
    await expect(eventStore.append("", added(1))).rejects.toThrow(ValueError);
    await expect(eventStore.append("x".repeat(256), added(1))).rejects.toThrow("a stream must be a string of 1 to 255");
    for (const expectedVersion of [-1, 1.5, "some"] as never[]) {
      await expect(eventStore.append(name, added(1), { expectedVersion })).rejects.toThrow(
        "'expectedVersion' in append() must be",
      );
    }
    expect(() => eventStore.read(name, { from: -1 })).toThrow("option 'from'");
    expect(await eventStore.streamVersion(name)).toBe(0);
  });

  it("A misspelt option is refused", async () => {
    const { eventStore } = app;
    const name = stream();
    const orders = eventStore.repository(Order);
    const order = new Order(randomUUID());
    const calls: [message: string, call: () => unknown][] = [
      [
        "'expectdVersion' in append(); did you mean 'expectedVersion'?",
        () => eventStore.append(name, added(1), { expectdVersion: 0 } as never),
      ],
      ["'form' in read(); did you mean 'from'?", () => eventStore.read(name, { form: 2 } as never)],
      ["'tpyes' in readAll(); did you mean 'types'?", () => eventStore.readAll({ tpyes: ["A"] } as never)],
      ["'limt' in readCategory(); did you mean 'limit'?", () => eventStore.readCategory("a", { limt: 1 } as never)],
      [
        "'achive' in truncateBefore(); did you mean 'archive'?",
        () => eventStore.truncateBefore(name, 1, { achive: false } as never),
      ],
      ["'metdata' in save(); did you mean 'metadata'?", () => orders.save(order, { metdata: {} } as never)],
      ["'creat' in update(); did you mean 'create'?", () => orders.update("none", () => {}, { creat: true } as never)],
      [
        "'retires' in handle(); did you mean 'retries'?",
        () => eventStore.decider(counter).handle("a", { add: 1, max: 2 }, { retires: 0 } as never),
      ],
    ];
    for (const [message, call] of calls) {
      await expect((async () => call())(), message).rejects.toThrow(`unknown option ${message}`);
    }
    expect(await eventStore.streamVersion(name)).toBe(0);
  });

  it("Escapes, surrogate pairs and backslashes are stored unchanged", async () => {
    const name = stream();
    const data = { text: 'a\\u0000 "b" \\\\u0000 😀 \n {x,"y"} NULL', list: ["NULL", "", "{}"], nothing: null };
    await app.eventStore.append(name, { type: "Text", data });
    expect((await app.eventStore.read(name))[0]!.data).toEqual(data);
  });

  it("A reader that changes an event does not change the store", async () => {
    const name = stream();
    await app.eventStore.append(name, added(1));
    ((await app.eventStore.read(name))[0]!.data as { n: number }).n = 99;
    expect((await app.eventStore.read(name))[0]!.data).toEqual({ n: 1 });
  });

  it("Events of an older version are upcast step by step when they are read", async () => {
    const name = stream();
    const type = `Named${randomUUID().slice(0, 8)}`;
    await app.eventStore.append(name, { type, data: { name: "Ada Lovelace" } });
    app.eventStore
      .upcast(type, 1, (data: { name: string }) => ({ first: data.name.split(" ")[0], last: data.name.split(" ")[1] }))
      .upcast(type, 2, (data: { first: string; last: string }) => ({ ...data, title: null }));
    await app.eventStore.append(name, { type, data: { first: "Alan", last: "Turing", title: "Dr" } });
    const events = await app.eventStore.read(name);
    expect(events.map(({ data, schemaVersion }) => [data, schemaVersion])).toEqual([
      [{ first: "Ada", last: "Lovelace", title: null }, 3],
      [{ first: "Alan", last: "Turing", title: "Dr" }, 3],
    ]);
    expect(() => app.eventStore.upcast(type, 2, () => null)).toThrow(
      `the next upcast of "${type}" is from version 3, not from 2`,
    );
  });
});

describe.each(storeKinds(server).filter((kind) => kind !== "memory"))("appends in transactions in %s", (kind) => {
  let place: Place;
  let app: App;
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start();
  });
  afterAll(() => place.drop());

  it("An append takes part in the transaction around it, and is rolled back with it", async () => {
    const { database, eventStore } = app;
    await database.transaction(async () => eventStore.append("a-1", { type: "A", data: 1 }));
    const failing = database.transaction(async (tx) => {
      await eventStore.append("a-1", { type: "A", data: 2 });
      await eventStore.append("a-2", { type: "A", data: 3 }, { tx });
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await eventStore.streamVersion("a-1")).toBe(1);
    expect(await eventStore.streamVersion("a-2")).toBe(0);
  });

  it("A conflict does not end the transaction around it", async () => {
    const { database, eventStore } = app;
    await database.transaction(async () => {
      const append = eventStore.append("a-3", { type: "A", data: 1 }, { expectedVersion: 7 });
      await expect(append).rejects.toThrow(ConcurrencyError);
      await eventStore.append("a-3", { type: "A", data: 1 }, { expectedVersion: "none" });
    });
    expect(await eventStore.streamVersion("a-3")).toBe(1);
  });

  it("Event data that a newer program wrote are refused when they are read", async () => {
    await app.eventStore.append("newer-1", { type: "Newer", data: 1 });
    await app.database.execute("update stoa.events set schema_version = 2 where stream = 'newer-1'");
    await expect(app.eventStore.read("newer-1").then()).rejects.toThrow(EventVersionError);
  });
});
