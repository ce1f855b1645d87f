import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { App } from "../../../src/app/app.js";
import { sql } from "../../../src/engines/db/sql/sql.js";
import { Aggregate } from "../../../src/patterns/events/aggregate.js";
import { EventSourcingConfig } from "../../../src/patterns/events/config.js";
import type { PlainEvent } from "../../../src/patterns/events/event.js";
import type { PersonalFieldsOf } from "../../../src/patterns/events/personal/personal.js";
import { projection } from "../../../src/patterns/events/projections/projection.js";
import { service } from "../../support/service.js";
import { makePlace, type Place, storeKinds } from "./stores.js";

const server = service("postgres");
const patient = { timeout: 20_000, interval: 10 };
const secret = "a secret of the tests, long enough";
const next = "the next secret of the tests, long too";

type CustomerEvents = {
  Registered: { customerId: string; name: string; email: string; year: number; plan: string };
  Renamed: { customerId: string; name: string };
};

class Customer extends Aggregate<CustomerEvents> {
  static readonly personal = {
    Registered: { subject: "customerId", fields: ["name", "email", "year"], erased: { year: 0 } },
    Renamed: { subject: "customerId", fields: ["name"] },
  } as const satisfies PersonalFieldsOf<CustomerEvents>;
  name = "";
  plan = "";
  register(name: string): void {
    this.emit("Registered", { customerId: this.id, name, email: `${name}@x.test`, year: 1815, plan: "free" });
  }
  rename(name: string): void {
    this.emit("Renamed", { customerId: this.id, name });
  }
  apply(event: PlainEvent<CustomerEvents>): void {
    this.name = event.data.name;
    if (event.type === "Registered") this.plan = event.data.plan;
  }
}

describe.each(storeKinds(server))("personal data in %s", (kind) => {
  let place: Place;
  let app: App;
  const options = { personalKeys: secret, snapshotInterval: 2 };
  beforeAll(async () => {
    place = await makePlace(kind, server);
    app = await place.start(options);
  });
  afterAll(() => place.drop());

  it("Personal fields are stored encrypted and read in the clear, until the person is forgotten", async () => {
    const { eventStore } = app;
    const customers = eventStore.repository(Customer);
    const ada = new Customer("ada");
    ada.register("Ada");
    ada.rename("Lovelace");
    await customers.save(ada);
    const grace = new Customer("grace");
    grace.register("Grace");
    await customers.save(grace);
    await vi.waitFor(async () => expect(await eventStore.storage.loadSnapshot("customer-ada")).not.toBeNull(), patient);

    const stored = await eventStore.storage.readStream("customer-ada", { from: 1, limit: 10 });
    expect(JSON.stringify(stored)).not.toMatch(/"Ada|Lovelace|"1815|@x\.test/);
    expect(stored[0]!.data).toMatchObject({ customerId: "ada", plan: "free" });
    const [first] = await eventStore.read<CustomerEvents>("customer-ada");
    expect(first!.data).toEqual({ customerId: "ada", name: "Ada", email: "Ada@x.test", year: 1815, plan: "free" });

    expect(await eventStore.forget("ada")).toEqual({ streams: ["customer-ada"] });
    expect(await eventStore.storage.loadSnapshot("customer-ada")).toBeNull();
    const erased = (await eventStore.read<CustomerEvents>("customer-ada")).map(({ data }) => data);
    expect(erased).toEqual([
      { customerId: "ada", name: "[erased]", email: "[erased]", year: 0, plan: "free" },
      { customerId: "ada", name: "[erased]" },
    ]);
    expect(await customers.load("ada")).toMatchObject({ name: "[erased]", plan: "free", version: 2 });
    expect(await customers.load("grace")).toMatchObject({ name: "Grace" });
    expect(await eventStore.forget("ada")).toEqual({ streams: ["customer-ada"] });

    // A person who comes back has a new key; what was erased stays so.
    await customers.update("ada", (customer) => customer.rename("Augusta"));
    expect((await eventStore.read<CustomerEvents>("customer-ada")).map(({ data }) => data.name)).toEqual([
      "[erased]",
      "[erased]",
      "Augusta",
    ]);
  });

  it("A worker that has the data of a person in memory writes no snapshot of them once the person is forgotten", async () => {
    const { eventStore } = app;
    const customers = eventStore.repository(Customer);
    const held = new Customer("hedy");
    held.register("Hedy");
    await customers.save(held);
    await eventStore.forget("hedy");
    held.rename("Lamarr");
    held.rename("Kiesler");
    held.rename("Markey");
    await customers.save(held);
    // The snapshot of another stream, which begins later, has been written.
    const marker = new Customer("marker");
    marker.register("M");
    marker.rename("N");
    await customers.save(marker);
    const marked = () => eventStore.storage.loadSnapshot("customer-marker");
    await vi.waitFor(async () => expect(await marked()).not.toBeNull(), patient);
    expect(await eventStore.storage.loadSnapshot("customer-hedy")).toBeNull();
    if (kind !== "memory") {
      const states = await app.database.fetch("select state from stoa.snapshots where stream = 'customer-hedy'");
      expect(JSON.stringify(states)).not.toMatch(/Hedy|Markey/);
    }
  });

  it("Events in the archive are erased too, and restored ones stay so", async () => {
    const { eventStore } = app;
    const stream = "customer-archived";
    await eventStore.append(stream, { type: "Renamed", data: { customerId: "archived", name: "Ida" } });
    await eventStore.archive(stream);
    const names = async (archived: boolean) =>
      (await eventStore.read<CustomerEvents>(stream, { archived })).map(({ data }) => data.name);
    expect(await names(true)).toEqual(["Ida"]);
    await eventStore.forget("archived");
    expect(await names(true)).toEqual(["[erased]"]);
    await eventStore.restore(stream);
    expect(await names(false)).toEqual(["[erased]"]);
  });

  if (kind !== "memory")
    it("A rebuild of a projection replaces the data of a person who was forgotten", async () => {
      const { eventStore, database } = app;
      const people = projection("people", {
        from: Customer,
        tables: ["people"],
        create: (tx, tables) =>
          tx.execute(sql`create table ${tables.people} (stream text primary key, name text, year int)`),
        on: {
          Registered: ({ stream, data }, { tx, tables }) =>
            tx.execute(sql`insert into ${tables.people} values (${stream}, ${data.name}, ${data.year})`),
        },
      });
      const running = eventStore.project(people);
      const data = { customerId: "projected", name: "Rosalind", email: "r@x.test", year: 1920, plan: "free" };
      const { position } = await eventStore.append("customer-projected", { type: "Registered", data });
      expect(await eventStore.waitFor(people, position, { timeoutMs: 20_000 })).toBe(true);
      const row = () => database.fetchrow("select name, year from people where stream = 'customer-projected'");
      expect(await row()).toEqual({ name: "Rosalind", year: 1920 });
      const { streams } = await eventStore.forget("projected");
      expect(streams).toEqual(["customer-projected"]);
      await eventStore.rebuild(people);
      await vi.waitFor(async () => expect(await row()).toEqual({ name: "[erased]", year: 0 }), patient);
      await running.close();
    });

  if (kind === "postgres")
    it("A snapshot that is written while a person is being forgotten does not stay", async () => {
      const { eventStore, database } = app;
      const stream = "customer-race";
      const { version } = await eventStore.append(stream, { type: "Renamed", data: { customerId: "race", name: "R" } });
      const [event] = await eventStore.read(stream);
      const snapshot = { version, eventId: event!.id, schema: "customer 1", state: '"R"', checksum: "" };
      let saved = false;
      const waits = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      const saving = await database.transaction(async () => {
        await eventStore.forget("race");
        // On another connection, which does not see the transaction.
        const save = eventStore.storage.saveSnapshot(stream, snapshot).then(() => (saved = true));
        await vi.waitFor(
          async () => expect(saved || (await database.fetchval<number>(waits))! > 0).toBe(true),
          patient,
        );
        return { save };
      });
      await saving.save;
      expect(await eventStore.storage.loadSnapshot(stream)).toBeNull();
    });

  it("Streams and subjects whose names could be confused have keys of their own", async () => {
    const { eventStore } = app;
    await eventStore.append("a b", { type: "Renamed", data: { customerId: "c", name: "first" } });
    await eventStore.append("a", { type: "Renamed", data: { customerId: "b c", name: "second" } });
    await eventStore.forget("c");
    expect((await eventStore.read<CustomerEvents>("a b"))[0]!.data.name).toBe("[erased]");
    expect((await eventStore.read<CustomerEvents>("a"))[0]!.data.name).toBe("second");
  });

  it("Subscriptions receive personal fields in the clear", async () => {
    const seen: unknown[] = [];
    await using _running = app.eventStore.subscribe<CustomerEvents>({ name: "names", types: ["Renamed"] }, ({ data }) =>
      seen.push(data.name),
    );
    await app.eventStore.append("customer-x", { type: "Renamed", data: { customerId: "x", name: "Xenia" } });
    await vi.waitFor(() => expect(seen).toContain("Xenia"), patient);
  });

  it("Events without a subject, or with a field of the store, are refused", async () => {
    const { eventStore } = app;
    const without = eventStore.append("customer-y", { type: "Renamed", data: { name: "Y" } });
    await expect(without).rejects.toThrow("the field 'customerId' of \"Renamed\" must identify the person");
    const forged = eventStore.append("customer-y", { type: "Other", data: { $personal: {} } });
    await expect(forged).rejects.toThrow("cannot have a field '$personal'");
    expect(await eventStore.streamVersion("customer-y")).toBe(0);
  });

  if (kind !== "memory")
    it("Data of a transaction that is rolled back leave no key behind that later events could use", async () => {
      const { eventStore, database } = app;
      const rolledBack = database.transaction(async (tx) => {
        await eventStore.append("customer-z", { type: "Renamed", data: { customerId: "z", name: "Z" } }, { tx });
        throw new Error("rolled back");
      });
      await expect(rolledBack).rejects.toThrow("rolled back");
      await eventStore.append("customer-z", { type: "Renamed", data: { customerId: "z", name: "Zoe" } });
      await database.execute("select 1");
      const other = kind === "postgres" ? await place.start(options) : app;
      other.eventStore.repository(Customer);
      expect((await other.eventStore.read<CustomerEvents>("customer-z"))[0]!.data.name).toBe("Zoe");
    });

  if (kind === "postgres")
    it("A key that one worker deletes leaves the caches of the others", async () => {
      const other = await place.start({ ...options, keyCache: "1h" });
      const third = await place.start({ ...options, keyCache: "1h" });
      const read = async (from: App) => (await from.eventStore.read<CustomerEvents>("customer-c"))[0]!.data.name;
      await other.eventStore.repository(Customer);
      await app.eventStore.append("customer-c", { type: "Renamed", data: { customerId: "c", name: "Cleo" } });
      expect([await read(other), await read(third)]).toEqual(["Cleo", "Cleo"]);
      await app.eventStore.forget("c");
      await vi.waitFor(
        async () => expect([await read(other), await read(third)]).toEqual(["[erased]", "[erased]"]),
        patient,
      );
    });

  if (kind === "postgres")
    it("Keys are wrapped with a new secret, and the old one is not needed any more", async () => {
      const rotating = await place.start({ ...options, personalKeys: [next, secret] });
      expect(await rotating.eventStore.rotatePersonalKeys()).toBeGreaterThan(0);
      expect(await rotating.eventStore.rotatePersonalKeys()).toBe(0);
      const later = await place.start({ ...options, personalKeys: next });
      expect((await later.eventStore.read<CustomerEvents>("customer-grace"))[0]!.data.name).toBe("Grace");
      const old = await place.start({ ...options, personalKeys: secret });
      await expect(old.eventStore.read("customer-grace").then()).rejects.toThrow("not in option 'personalKeys'");
    });
});

describe("declarations of personal data", () => {
  it("Wrong secrets are refused, and no message or log shows them", () => {
    const wrong = (personalKeys: unknown) => () => new EventSourcingConfig({ personalKeys: personalKeys as never });
    expect(wrong("short secret")).toThrow("of at least 32 characters");
    expect(wrong("short secret")).not.toThrow("short secret");
    expect(wrong([secret, 3])).toThrow("option 'personalKeys'");
    expect(JSON.stringify(new EventSourcingConfig({ personalKeys: secret }))).not.toContain(secret);
  });

  it("A projection declares the personal fields of its source, so that a program without a repository encrypts them", async () => {
    const place = await makePlace("pglite", undefined);
    const names = projection("names", {
      from: Customer,
      tables: ["names"],
      create: (tx, tables) => tx.execute(sql`create table ${tables.names} (name text)`),
      on: {},
    });
    const app = await place.start({ personalKeys: secret }, ({ eventStore }) => void eventStore.project(names));
    await app.eventStore.append("customer-p", { type: "Renamed", data: { customerId: "p", name: "Pat" } });
    const [stored] = await app.eventStore.storage.readStream("customer-p", { from: 1, limit: 1 });
    expect(JSON.stringify(stored!.data)).not.toContain("Pat");
    await place.drop();
  });

  it("Personal fields without secrets, and wrong declarations, are refused", async () => {
    const place = await makePlace("memory", undefined);
    const start = place.start({}, (app) => void app.eventStore.repository(Customer));
    await expect(start).rejects.toThrow("personal fields need option 'personalKeys'");
    await place.start({ personalKeys: secret }, ({ eventStore }) => {
      const declare = (options: object) => () => eventStore.personal("T", options as never);
      expect(declare({ subject: "", fields: ["a"] })).toThrow("option 'subject'");
      expect(declare({ subject: "id", fields: [] })).toThrow("option 'fields'");
      expect(declare({ subject: "id", fields: ["a"], errased: {} })).toThrow(
        "unknown option 'errased' in the personal fields of \"T\"; did you mean 'erased'?",
      );
      expect(declare({ subject: "id", fields: ["id"] })).toThrow("cannot be one of its personal fields");
      declare({ subject: "id", fields: ["a"] })();
      expect(declare({ subject: "id", fields: ["b"] })).toThrow("have been declared already");
    });
    await place.drop();
  });
});
