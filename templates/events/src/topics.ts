import { topic } from "stoa/messaging";
import { z } from "zod";

const OrderConfirmed = z.object({ order: z.string(), sku: z.string(), quantity: z.int() });

/** A topic is declared once: its schema and key hold for those who publish and those who consume. */
export const orderConfirmed = topic("orders.confirmed", { schema: OrderConfirmed, key: ({ order }) => order });
