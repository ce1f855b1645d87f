import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { migrate } from "stoa/migrations";
import { testClient, testMessages, testWork } from "stoa/testing";
import createApp from "../src/app.js";
import seed from "../src/seed.js";

// A PostgreSQL and a broker in the memory of this process.
const app = createApp({ DATABASE_URL: "pglite:", BROKER_URL: "memory:", LOG_LEVEL: "error" });
testMessages(app);
const client = testClient(app);
/** `runDue()` waits for sagas, messages and projections. */
const work = testWork(app);

before(async () => {
  await client.start();
  await migrate(app.database, { directory: new URL("../migrations", import.meta.url) });
  await seed(app.database);
});
after(() => client.stop());

interface ShipmentRow {
  orderId: string;
  sku: string;
  quantity: number;
}

const place = (order: object) => client.post("/orders", { json: { customer: "Ann", quantity: 1, ...order } });
const get = async (path: string) => (await client.get(path)).json();
const available = async (sku: string) =>
  (await get("/stock")).find((item: { sku: string }) => item.sku === sku).available;

test("an order is confirmed and shipped, once", { timeout: 120_000 }, async () => {
  assert.equal((await place({ id: "o1", sku: "cup", quantity: 2 })).status, 200);
  await work.runDue();
  assert.equal((await get("/orders/o1")).status, "confirmed");
  const shipments: ShipmentRow[] = await get("/shipments");
  assert.deepEqual(
    shipments.map(({ orderId, sku, quantity }) => ({ orderId, sku, quantity })),
    [{ orderId: "o1", sku: "cup", quantity: 2 }],
  );
  assert.equal(await available("cup"), 1);
  // The same command again changes nothing.
  assert.equal((await place({ id: "o1", sku: "cup", quantity: 2 })).status, 200);
  assert.equal(await available("cup"), 1);
});

test("an order that cannot be paid is refused, and its goods are back", { timeout: 120_000 }, async () => {
  await place({ id: "o2", sku: "tea", quantity: 3, customer: "Broke Bob" });
  await work.runDue();
  assert.equal((await get("/orders/o2")).status, "refused");
  assert.equal(await available("tea"), 100);
});

test("an order of more than there is is refused", { timeout: 120_000 }, async () => {
  await place({ id: "o3", sku: "cup", quantity: 50 });
  await work.runDue();
  assert.equal((await get("/orders/o3")).status, "refused");
});

test("wrong orders are not accepted", async () => {
  assert.equal((await place({ id: "o4", sku: "gold" })).status, 404);
  assert.equal((await place({ id: "o5", sku: "tea", quantity: 0 })).status, 422);
  assert.equal((await place({ id: "o1", sku: "tea" })).status, 409);
  assert.equal((await client.get("/orders/nobody")).status, 404);
});
