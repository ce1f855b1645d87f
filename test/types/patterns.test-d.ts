import { App } from "stoa";
import { command, query } from "stoa/cqrs";
import { Aggregate, decider, type PlainEvent, projection } from "stoa/events";
import { topic } from "stoa/messaging";
import { saga, signal } from "stoa/saga";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

type OrderEvents = { Placed: { customer: string }; Added: { price: number } };

class Order extends Aggregate<OrderEvents> {
  total = 0;
  place(customer: string): void {
    this.emit("Placed", { customer });
    // @ts-expect-error: the data of another event
    this.emit("Placed", { price: 1 });
    // @ts-expect-error: no such event
    this.emit("Gone", {});
  }
  apply(event: PlainEvent<OrderEvents>): void {
    if (event.type === "Added") this.total += event.data.price;
    else expectTypeOf(event.data).toEqualTypeOf<{ customer: string }>();
  }
}

const app = new App();

describe("types of events, sagas, jobs and commands", () => {
  it("A repository loads the class it was made for", () => {
    const orders = app.eventStore.repository(Order);
    expectTypeOf(orders.load("1")).resolves.toEqualTypeOf<Order>();
    expectTypeOf(orders.update("1", (order) => order.total)).resolves.toEqualTypeOf<number>();
  });

  it("A decider infers its state and its commands", () => {
    const counter = decider<{ Counted: { by: number } }>()({
      category: "counter",
      initial: () => ({ value: 0 }),
      evolve: (state, event) => ({ value: state.value + event.data.by }),
      decide: (_state, add: number) => [{ type: "Counted", data: { by: add } }],
    });
    const counters = app.eventStore.decider(counter);
    expectTypeOf(counters.load("1")).resolves.toEqualTypeOf<{ state: { value: number }; version: number }>();
    // @ts-expect-error: not a command of this decider
    void counters.handle("1", "three");
  });

  it("A projection knows the events of its sources and its tables", () => {
    projection("totals", {
      from: Order,
      tables: ["totals"],
      create: (tx, tables) => {
        // @ts-expect-error: no such table
        tables.others;
        return tx.execute(tables.totals);
      },
      on: {
        Added: (event) => expectTypeOf(event.data).toEqualTypeOf<{ price: number }>(),
      },
    });
  });

  it("A projection of several sources knows the events of all of them", () => {
    projection("both", {
      from: [
        Order,
        decider<{ Counted: { by: number } }>()({
          category: "counter",
          initial: () => 0,
          evolve: (state) => state,
          decide: () => [],
        }),
      ],
      tables: ["both"],
      create: () => {},
      on: {
        Added: (event) => expectTypeOf(event.data).toEqualTypeOf<{ price: number }>(),
        Counted: (event) => expectTypeOf(event.data).toEqualTypeOf<{ by: number }>(),
        // @ts-expect-error: no such event
        Other: () => {},
      },
    });
  });

  it("Personal fields are those of the event", () => {
    type Events = { Registered: { id: string; name: string } };
    app.eventStore.personal<Events>("Registered", { subject: "id", fields: ["name"] });
    // @ts-expect-error: no such field
    app.eventStore.personal<Events>("Registered", { subject: "id", fields: ["mail"] });
    class Customer extends Aggregate<Events> {
      static readonly personal = { Registered: { subject: "id", fields: ["mail"] } } as const;
      apply(): void {}
    }
    // @ts-expect-error: no such field
    app.eventStore.repository(Customer);
  });

  it("The steps of a saga see the input and the results before them", () => {
    const checkout = saga<{ order: number }>("checkout")
      .step("reserve", { action: ({ input }) => ({ reservation: input.order }) })
      .step("pay", {
        action: async ({ results }) => results.reserve.reservation,
        compensate: ({ result }) => expectTypeOf(result).toEqualTypeOf<number | undefined>(),
      });
    const handle = app.saga(checkout);
    expectTypeOf(handle.start).parameter(0).toEqualTypeOf<{ order: number }>();
    // @ts-expect-error: a step that comes later
    saga("x").step("a", { action: ({ results }) => results.b });
  });

  it("Waits, parallel steps and children give their results typed to the steps behind them", () => {
    const payments = topic("payments", { schema: z.object({ order: z.string(), amount: z.number() }) });
    const approved = signal<{ by: string }>("approved");
    const shipping = saga("shipping", { input: z.object({ weight: z.coerce.number() }) }).step("pack", {
      action: ({ input }) => `packed ${input.weight}`,
    });
    const checkout = saga<{ order: string }>("checkout")
      .parallel((step) => ({
        stock: step({
          action: ({ input }) => ({ reserved: input.order }),
          compensate: ({ result }) => expectTypeOf(result).toEqualTypeOf<{ reserved: string } | undefined>(),
        }),
        tax: step({ action: async ({ key }) => key.length }),
      }))
      .parallel({
        price: { action: async ({ key, results }) => key.length + results.tax },
        label: { action: ({ input }) => input.order, compensate: ({ key }) => key.length },
      })
      .waitFor("paid", { topic: payments, key: ({ input, results }) => input.order + results.stock.reserved })
      .waitFor("approval", { signal: approved, timeout: "1s", optional: true })
      .waitFor("placed", { event: "Placed", from: Order, key: ({ input }) => `order-${input.order}` })
      .sleep("rest", ({ results }) => results.price)
      .child("shipping", shipping, ({ results }) => ({ weight: results.paid.amount }))
      .step("end", {
        action({ results }) {
          expectTypeOf(results.stock).toEqualTypeOf<{ reserved: string }>();
          expectTypeOf(results.price).toEqualTypeOf<number>();
          expectTypeOf(results.label).toEqualTypeOf<string>();
          expectTypeOf(results.paid).toEqualTypeOf<{ order: string; amount: number }>();
          expectTypeOf(results.approval).toEqualTypeOf<{ by: string } | null>();
          expectTypeOf(results.placed).toEqualTypeOf<{ customer: string }>();
          expectTypeOf(results.rest).toEqualTypeOf<null>();
          expectTypeOf(results.shipping.pack).toEqualTypeOf<string>();
        },
      });
    void app.sagas.start(checkout, { order: "1" });
    void app.sagas.signal("id", approved, { by: "ada" });
    // @ts-expect-error: another value than the signal has
    void app.sagas.signal("id", approved, { by: 7 });
    // @ts-expect-error: not the input of the definition
    void app.sagas.start(checkout, { order: 1 });
    // @ts-expect-error: not the input of the child
    saga("x").child("shipping", shipping, { height: 1 });
    // @ts-expect-error: one input in place of a list
    saga("x").each("shipping", shipping, { weight: 1 });
    // @ts-expect-error: a list of other inputs
    saga("x").each("shipping", shipping, () => [{ height: 1 }]);
    // @ts-expect-error: no saga of this name
    saga("x").choose("way", { shipping }, () => ({ pickup: { weight: 1 } }));
    // @ts-expect-error: not the input of the saga of this name
    saga("x").choose("way", { shipping }, () => ({ shipping: { height: 1 } }));
    // @ts-expect-error: not the input of a round
    saga("x").repeat("ask", shipping, { input: () => ({ height: 1 }), until: () => true });
    // @ts-expect-error: a promise is always true
    saga("x").repeat("ask", shipping, { input: () => ({ weight: 1 }), until: async () => false });
    // @ts-expect-error: an object is no attribute
    saga<{ id: string }>("x", { attributes: ({ id }) => ({ id: { id } }) });
    // @ts-expect-error: a message needs a key
    saga("x").waitFor("paid", { topic: payments });
  });

  it("A job takes the input of its schema and runs with the output", () => {
    const mail = app.job("mail", { schema: z.object({ at: z.coerce.number() }) }, ({ at }) => {
      expectTypeOf(at).toEqualTypeOf<number>();
    });
    expectTypeOf(mail.enqueue).parameter(0).toEqualTypeOf<{ at: unknown }>();
    const bare = app.job("bare", (value: { id: string }, { attempt }) => value.id + attempt);
    expectTypeOf(bare.enqueue).parameter(0).toEqualTypeOf<{ id: string }>();
    const plain = app.job<string>("plain", {}, (value) => value.length);
    // @ts-expect-error: another type of value
    void plain.enqueue(7);
  });

  it("A command infers its result, and its route fits an application", () => {
    const add = command("add", { schema: z.object({ a: z.number() }), handler: ({ a }) => ({ sum: a }) });
    app.post("/sums", ...app.commands.route(add));
    const run = async () => (await app.commands.execute(add, { a: 1 })).value;
    expectTypeOf(run()).resolves.toEqualTypeOf<{ sum: number }>();
    // @ts-expect-error: the input does not fit the schema
    void app.commands.execute(add, { a: "1" });
  });

  it("A command without a handler takes its types from its schemas", () => {
    const ship = command("ship", { schema: z.object({ id: z.coerce.number() }), result: z.object({ at: z.string() }) });
    app.commands.handler(ship, ({ id }) => {
      expectTypeOf(id).toEqualTypeOf<number>();
      return { at: "noon" };
    });
    // @ts-expect-error: another result
    app.commands.handler(ship, () => ({ at: 12 }));
    class Shipping {
      @app.commands.handler(ship)
      async ship({ id }: { id: number }) {
        return { at: `${id}` };
      }
    }
    void Shipping;
    const since = query("since", { schema: z.object({ day: z.string() }), handler: ({ day }) => day.length });
    app.get("/since", ...app.queries.route(since));
    const run = async () => (await app.commands.execute(ship, { id: 1 })).value;
    expectTypeOf(run()).resolves.toEqualTypeOf<{ at: string }>();
  });
});
