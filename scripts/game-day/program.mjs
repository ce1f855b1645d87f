/**
 * The orders example with what a shop has beside it: rooms, GraphQL, a limit, a cached page, tokens, sessions, jobs, and
 * messages whose order matters. Its settings are in GAME_DAY; the version of the program is read from a file, so that a
 * reload starts another one.
 */
import { readFileSync } from "node:fs";
import { GraphQLError } from "graphql";
import { JwtAuth, OperationalError, Response, sql } from "stoa";
import { topic } from "stoa/messaging";
import { z } from "zod";
import { ordersShop } from "../../examples/orders/app.ts";
import { notStarted } from "../chaos/program.mjs";

const settings = JSON.parse(process.env.GAME_DAY);
const version = Number(readFileSync(settings.versionFile, "utf8"));

/** A start that fails, because an engine is away, is tried again by the rig, as a service manager would. */
let started = false;
process.on("exit", (code) => {
  if (code === 1 && !started) process.exitCode = notStarted;
});

const { database, broker, brokerUrl: url, grpc, telemetry } = settings;
const { app, place } = ordersShop({ database, broker, url, grpc });
app.enableKvstore(settings.redis);
if (telemetry) app.enableTelemetry(telemetry);
app.enableSessions();
app.enableRooms({ history: 1000 });
app.enableGraphql();

// The suggested response while the database is away.
app.exceptionHandler(OperationalError, () => Response.json({ detail: "the database is away" }, 503));

app.get("/version", () => ({ version }));

app.websocket("/rooms/{room}", async (socket) => {
  const { room } = socket.params;
  const after = socket.query.get("after");
  await socket.join(room, { envelope: true, ...(after && { after }) });
  await socket.sendJson({ joined: room });
  for await (const _ of socket);
});
app.post("/rooms/{room}", async (request) => ({ id: await app.rooms(request.params.room).send(request.json()) }));
app.graphql.query("version", "Int!", () => version);
const Tick = app.graphql.type("Tick").fields({ n: "Int!" });
app.graphql.subscription("ticked", Tick.required, () => app.rooms("ticked").subscribe());

const Placed = app.graphql.type("Placed").fields({ id: "String!" });
const args = { id: "String!", customer: "String!", quantity: "Int!" };
app.graphql.mutation("placeOrder", { type: Placed.required, args }, async (order) => {
  const input = { ...order, email: "a@example.org", sku: "tea" };
  try {
    return (await app.commands.execute(place, input)).value;
  } catch (error) {
    if (!(error instanceof OperationalError)) throw error;
    throw new GraphQLError("the database is away", { extensions: { code: "UNAVAILABLE" } });
  }
});

const rateLimit = {
  kind: "sliding_window",
  maxRequests: settings.limit,
  windowSecs: 600,
  key: (request) => request.headers.get("x-key"),
};
app.get("/limited", { rateLimit }, () => ({ version }));

app.get("/pages/{key}", { cache: { ttl: 60, tags: ["pages"] } }, async (request) => ({
  value: (await request.db.fetchval(sql`select value from pages where key = ${request.params.key}`)) ?? 0,
}));
app.post("/writes/{key}", async (request) => {
  const { key } = request.params;
  const { value } = request.json();
  await request.db.execute(
    sql`insert into pages values (${key}, ${value}) on conflict (key) do update set value = greatest(pages.value, ${value})`,
  );
  await app.invalidateCache(["pages"]);
  return { value };
});

const jwt = new JwtAuth({ secret: "a secret of the game day that is long enough", expiration: 3600 });
app.post("/tokens", () => ({ token: jwt.createToken({ sub: "ada" }) }));
app.get("/me", { middleware: [jwt] }, (request) => ({ sub: request.context.jwt_claims.sub }));
app.post("/revoke", { middleware: [jwt] }, async (request) => {
  await jwt.revoke(request);
  return {};
});

app.post("/login", (request) => {
  const { user } = request.json();
  request.session.regenerate(user);
  request.session.set("user", user);
  return { user };
});
app.get("/whoami", (request) => ({ user: request.session.get("user") ?? null }));
app.post("/logout", (request) => {
  request.session.destroy();
  return {};
});

const work = app.job("work", { retries: 20 }, ({ number }, { id }) =>
  app.database.execute(sql`insert into work values (${number}, ${id})`),
);
app.post("/jobs", async (request) => {
  const { number } = request.json();
  // A client that asks again, because it got no response, gets the job that it has.
  return { id: await work.enqueue({ number }, { key: `work-${number}`, keepKey: "2h" }) };
});

const ticks = topic("ticks", { schema: z.object({ key: z.string(), number: z.int() }), key: ({ key }) => key });
app.post("/ticks", (request) =>
  request.db.transaction(async (tx) => {
    const { key, number } = request.json();
    await tx.publish(ticks, { key, number }, { id: `${key}-${number}` });
    return { key, number };
  }),
);
app.onMessage(ticks, { inbox: true }, async ({ value: { key, number }, tx }) => {
  // A column that a migration adds changes the rows of this statement.
  await tx.fetch(sql`select * from ticks where key = ${key} order by place desc limit 1`);
  if (version === 1) await tx.execute(sql`insert into ticks (key, number) values (${key}, ${number})`);
  else await tx.execute(sql`insert into ticks (key, number, version) values (${key}, ${number}, ${version})`);
});

await app.run();
started = true;
