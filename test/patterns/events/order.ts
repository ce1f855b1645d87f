import { Aggregate } from "../../../src/patterns/events/aggregate.js";
import { decider } from "../../../src/patterns/events/decider.js";
import type { PlainEvent } from "../../../src/patterns/events/event.js";

export type OrderEvents = {
  OrderPlaced: { customer: string };
  ItemAdded: { sku: string; price: number };
};

export class Order extends Aggregate<OrderEvents> {
  customer: string | null = null;
  items: string[] = [];
  total = 0;

  place(customer: string): void {
    if (this.customer !== null) throw new Error("placed already");
    this.emit("OrderPlaced", { customer });
  }

  add(sku: string, price: number): void {
    this.emit("ItemAdded", { sku, price });
  }

  apply(event: PlainEvent<OrderEvents>): void {
    switch (event.type) {
      case "OrderPlaced":
        this.customer = event.data.customer;
        break;
      case "ItemAdded":
        this.items.push(event.data.sku);
        this.total += event.data.price;
    }
  }
}

export type CounterEvents = { Counted: { by: number } };

export const counter = decider<CounterEvents>()({
  category: "counter",
  initial: () => ({ value: 0 }),
  evolve: (state, event) => ({ value: state.value + event.data.by }),
  decide: (state, command: { add: number; max: number }) =>
    state.value + command.add > command.max ? [] : [{ type: "Counted", data: { by: command.add } }],
});
