import { Aggregate, type PlainEvent } from "stoa/events";

/** The facts that can happen to an order. They are stored and never changed. */
export type OrderEvents = {
  OrderPlaced: { customer: string; sku: string; quantity: number; total: number };
  OrderConfirmed: { payment: string };
  OrderRefused: { reason: string };
};

/** An order. Its methods decide and emit events; `apply` computes the state from them. */
export class Order extends Aggregate<OrderEvents> {
  status: "new" | "placed" | "confirmed" | "refused" = "new";

  place(order: OrderEvents["OrderPlaced"]): void {
    if (this.status === "new") this.emit("OrderPlaced", order);
  }

  confirm(payment: string): void {
    if (this.status === "placed") this.emit("OrderConfirmed", { payment });
  }

  refuse(reason: string): void {
    if (this.status === "placed") this.emit("OrderRefused", { reason });
  }

  apply(event: PlainEvent<OrderEvents>): void {
    if (event.type === "OrderPlaced") this.status = "placed";
    else if (event.type === "OrderConfirmed") this.status = "confirmed";
    else this.status = "refused";
  }
}
