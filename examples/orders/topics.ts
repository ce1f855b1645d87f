import { topic } from "stoa/messaging";
import { z } from "zod";

const OrderConfirmed = z.object({ order: z.string(), email: z.email(), sku: z.string(), quantity: z.int() });
const OrderRefused = z.object({ order: z.string(), email: z.email(), reason: z.string() });

/** Topics are declared once: the schema and the key hold for those who publish and those who consume. */
export const orderConfirmed = topic("orders.confirmed", { schema: OrderConfirmed, key: ({ order }) => order });
export const orderRefused = topic("orders.refused", { schema: OrderRefused, key: ({ order }) => order });
