/**
 * The clients: a steady load of known transactions through the balancer, and a ledger of what they were told. Ends in good
 * order with SIGTERM: begun transactions are completed, and clients of rooms wait for the last messages.
 */
import { Agent, request as httpRequest } from "node:http";
import { GrpcChannel } from "stoa/grpc";
import WebSocket from "ws";
import { ordersProto } from "../../examples/orders/orders-proto.ts";
import { ledgerFile } from "../chaos/ledger.mjs";
import { pause } from "../chaos/wait.mjs";

const { port, grpcPort, folder, limit, burst } = JSON.parse(process.argv[2]);
const write = ledgerFile(folder, "load");
const agent = new Agent({ keepAlive: true, maxSockets: 200 });
/** Milliseconds after which a client gives up. Nothing that is documented takes longer. */
const patience = 45_000;
let ending = false;
let closing = false;
process.on("SIGTERM", () => {
  ending = true;
});

/** One request; `expected` are the statuses of success. Anything else is written down. */
function call(op, method, path, { body, headers = {}, expected = [200] } = {}) {
  const began = performance.now();
  const at = Date.now();
  return new Promise((resolve) => {
    const done = (result) => {
      const ms = Math.round(performance.now() - began);
      const ok = expected.includes(result.status);
      write("http", { op, at, ms, ok, status: result.status, error: result.error, ...(!ok && { text: result.text }) });
      resolve({ ...result, ok, ms });
    };
    const text = body === undefined ? undefined : JSON.stringify(body);
    const sent = httpRequest(
      {
        port,
        host: "127.0.0.1",
        agent,
        method,
        path,
        headers: {
          ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      },
      (response) => {
        let received = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => (received += chunk));
        response.on("error", (error) => done({ error: error.code ?? error.message }));
        response.on("end", () => {
          let json;
          try {
            json = JSON.parse(received);
          } catch {}
          const cookie = response.headers["set-cookie"]?.[0].split(";")[0];
          done({ status: response.statusCode, json, cookie, text: received.slice(0, 300) });
        });
      },
    );
    sent.setTimeout(patience, () => sent.destroy(new Error("timeout")));
    sent.on("error", (error) => done({ error: error.code ?? error.message }));
    sent.end(text);
  });
}

/** The times between which a request that has just succeeded was handled. */
function timesOf({ ms }) {
  const to = Date.now();
  return { from: to - ms - 1, to };
}

/** Repeats a request until it succeeds. Its client does not know if the ones before had their effect. */
const persist = (...request) => persistWith(() => call(...request));

async function persistWith(attempt) {
  for (;;) {
    const result = await attempt();
    if (result.ok) return result;
    if (closing) return null;
    await pause(100 + Math.random() * 200);
  }
}

const shop = new GrpcChannel(`http://127.0.0.1:${grpcPort}`, { retries: 0 }).client("shop.v1.Orders", {
  proto: ordersProto,
});
/** Statuses of HTTP that a server means by those of gRPC. */
const httpStatuses = { NOT_FOUND: 404, UNAVAILABLE: 503, DEADLINE_EXCEEDED: 504 };

/** One call of gRPC, written down as a request is. */
async function callGrpc(op, method, message, { expected = [200] } = {}) {
  const began = performance.now();
  const at = Date.now();
  let result;
  try {
    result = { status: 200, json: await shop.unary(method, message, { timeout: patience / 1000 }) };
  } catch (error) {
    const isTimeout = error.statusName === "DEADLINE_EXCEEDED" && performance.now() - began >= patience;
    // If the connection behind it breaks, the balancer resets the stream, or ends the response as if it were whole.
    const isReset = error.message.includes("was reset") || error.message === "the response has no status";
    const text = `${error.statusName} ${error.message}`;
    if (isTimeout || isReset) result = { error: isTimeout ? "timeout" : "ECONNRESET", text };
    else result = { status: httpStatuses[error.statusName] ?? 500, text };
  }
  const ms = Math.round(performance.now() - began);
  const ok = expected.includes(result.status);
  write("http", { op, at, ms, ok, status: result.status, error: result.error, ...(!ok && { text: result.text }) });
  return { ...result, ok, ms };
}

/** A mutation of GraphQL: errors are in a result with the status 200. */
async function mutate(op, query, variables) {
  const began = Date.now();
  const result = await call(op, "POST", "/graphql", { body: { query, variables } });
  const errors = result.ok ? result.json?.errors : undefined;
  if (errors === undefined) return { ...result, json: result.json?.data };
  const away = errors.every(({ extensions }) => extensions?.code === "UNAVAILABLE");
  const text = JSON.stringify(errors);
  write("http", { op, at: began, ms: result.ms, ok: false, status: away ? 503 : 500, text });
  return { ...result, ok: false };
}

async function repeat(every, run) {
  for (let n = 1; !ending; n++) {
    await run(n);
    await pause(every * (0.5 + Math.random()));
  }
}

/** The ways to place an order, and to read it. */
const readOrder = (id) => call("read", "GET", `/orders/${id}`, { expected: [200, 404] });
const ways = {
  http: {
    place: (body) => call("order", "POST", "/orders", { body }),
    idOf: (json) => json.id,
    read: readOrder,
  },
  grpc: {
    place: (order) => callGrpc("grpc order", "Place", order),
    idOf: (json) => json.id,
    read: (id) => callGrpc("grpc read", "Get", { id }, { expected: [200, 404] }),
  },
  graphql: {
    place: ({ id, customer, quantity }) =>
      mutate(
        "mutation",
        "mutation ($id: String!, $customer: String!, $quantity: Int!) { placeOrder(id: $id, customer: $customer, quantity: $quantity) { id } }",
        { id, customer, quantity },
      ),
    idOf: (json) => json.placeOrder.id,
    read: readOrder,
  },
};

const orders = (lane, way, every = 250) =>
  repeat(every, async (n) => {
    const { place, idOf, read } = ways[way];
    const id = `o${lane}-${n}`;
    const quantity = 1 + (n % 3);
    const broke = n % 5 === 0;
    const order = { id, customer: broke ? "Broke Bob" : "Ann", email: "a@example.org", sku: "tea", quantity };
    write("order", { id, broke, quantity, way });
    // A client that gives up after the first failure leaves an order that is there or not, but never half.
    const result = n % 7 === 0 ? await place(order) : await persistWith(() => place(order));
    if (!result?.ok) return;
    write("ordered", { id, way });
    if (idOf(result.json) !== id)
      write("violation", { text: `order ${id} was answered by ${JSON.stringify(result.json)}` });
    const found = await read(id);
    if (found.ok && found.status === 200 && found.json.id !== id) {
      write("violation", { text: `order ${id} was read as ${JSON.stringify(found.json)}` });
    }
    // A command waits for its projection for 5 seconds at most.
    if (found.status !== 404) return;
    if (result.ms > 4900) write("unread", { id });
    else write("violation", { text: `order ${id} was confirmed in ${result.ms} ms, and cannot be read` });
  });

const jobs = () =>
  repeat(400, async (number) => {
    const result = await persist("job", "POST", "/jobs", { body: { number } });
    if (result !== null) write("enqueued", { number, id: result.json.id });
  });

const ticks = (key) =>
  repeat(150, async (number) => {
    if ((await persist("tick", "POST", "/ticks", { body: { key, number } })) !== null) write("ticked", { key, number });
  });

const sender = (room) =>
  repeat(200, async (n) => {
    write("sending", { room, n });
    const result = await call("send", "POST", `/rooms/${room}`, { body: { n } });
    if (result.ok) write("sent", { room, n, ...timesOf(result) });
  });

const limits = () =>
  repeat(2500, async (n) => {
    const from = Date.now();
    const headers = { "x-key": `k${n}` };
    const calls = Array.from({ length: burst }, () =>
      call("limit", "GET", "/limited", { headers, expected: [200, 429] }),
    );
    const results = await Promise.all(calls);
    const allowed = results.filter(({ status }) => status === 200).length;
    const unknown = results.filter(({ ok }) => !ok).length;
    write("limited", { key: `k${n}`, from, to: Date.now(), allowed, unknown, limit });
  });

const pages = (key) =>
  repeat(700, async (value) => {
    const result = await persist("write", "POST", `/writes/${key}`, { body: { value } });
    if (result !== null) write("written", { key, value, ...timesOf(result) });
  });

const readers = (key) =>
  repeat(120, async () => {
    const at = Date.now();
    const { ok, json } = await call("page", "GET", `/pages/${key}`);
    if (ok) write("page", { key, value: json.value, at });
  });

const revoked = [];
const tokens = () =>
  repeat(600, async () => {
    const { json } = (await persist("token", "POST", "/tokens")) ?? {};
    if (json === undefined) return;
    const headers = { authorization: `Bearer ${json.token}` };
    // A store that has lost its data refuses tokens of the time before.
    await call("me", "GET", "/me", { headers, expected: [200, 401] });
    const result = await persist("revoke", "POST", "/revoke", { headers, expected: [200, 401] });
    // A machine whose clock is behind does not know the token yet, and has revoked nothing.
    if (result?.status !== 200) return;
    const times = timesOf(result);
    const token = { headers, times };
    write("revoked", times);
    revoked.push(token);
    for (const old of [token, token, revoked[Math.floor(Math.random() * revoked.length)]]) {
      const { status } = await call("me", "GET", "/me", { headers: old.headers, expected: [200, 401] });
      if (status === 200) write("accepted", { what: "a revoked token", ...old.times });
    }
  });

const ended = [];
const sessions = () =>
  repeat(700, async (n) => {
    const login = await persist("login", "POST", "/login", { body: { user: `u${n}` } });
    const headers = { cookie: login?.cookie };
    if (headers.cookie === undefined) return;
    const { status, json } = await call("whoami", "GET", "/whoami", { headers });
    // A store that has lost its data knows nobody.
    if (status === 200 && ![null, `u${n}`].includes(json.user)) {
      write("violation", { text: `the session of u${n} is that of ${json.user}` });
    }
    const result = await persist("logout", "POST", "/logout", { headers });
    if (result === null) return;
    const times = timesOf(result);
    const session = { headers, times };
    write("logged out", times);
    ended.push(session);
    for (const old of [session, session, ended[Math.floor(Math.random() * ended.length)]]) {
      const after = await call("whoami", "GET", "/whoami", { headers: old.headers });
      if (after.status === 200 && after.json.user !== null) {
        write("accepted", { what: "an ended session", ...old.times });
      }
    }
  });

/** A WebSocket that notices silence; calls back with each message, and resolves when it is closed. */
function socketOf(path, protocols, onOpen, onMessage) {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, { handshakeTimeout: 10_000 });
    let alive = true;
    const timer = setInterval(() => {
      if (closing) socket.close();
      if (!alive) socket.terminate();
      alive = false;
      if (socket.readyState === WebSocket.OPEN) socket.ping();
    }, 5000);
    const stop = setInterval(() => closing && socket.close(), 200);
    socket.on("pong", () => (alive = true));
    socket.on("open", () => {
      alive = true;
      onOpen(socket);
    });
    socket.on("message", (data) => {
      alive = true;
      onMessage(JSON.parse(String(data)), socket);
    });
    socket.on("unexpected-response", (_, response) => {
      write("http", { op: "upgrade", at: Date.now(), ms: 0, ok: false, status: response.statusCode });
      response.resume();
      socket.terminate();
    });
    socket.on("error", () => {});
    socket.on("close", (code, reason) => {
      clearInterval(timer);
      clearInterval(stop);
      resolve({ code, reason: String(reason) });
    });
  });
}

/** A client of a room: it comes back with the id of the last message. */
async function roomClient(room, client) {
  let last = null;
  while (!closing) {
    const path = `/rooms/${room}${last === null ? "" : `?after=${encodeURIComponent(last)}`}`;
    const { code, reason } = await socketOf(
      path,
      [],
      () => {},
      (message) => {
        if (message.joined) write("joined", { room, client, resumed: last !== null });
        else if (message.gap) write("gap", { room, client });
        else {
          last = message.id;
          write("heard", { room, client, n: message.data.n, id: message.id });
        }
      },
    );
    write("left", { room, client, code, reason, closing });
    await pause(100 + Math.random() * 300);
  }
}

/** A client of a subscription: each time it comes back is a session of its own. */
async function subscriber(client) {
  for (let session = 1; !closing; session++) {
    const name = `${client}.${session}`;
    let told = false;
    const { code, reason } = await socketOf(
      "/graphql",
      ["graphql-transport-ws"],
      (socket) => socket.send(JSON.stringify({ type: "connection_init" })),
      (message, socket) => {
        if (message.type === "connection_ack") {
          socket.send(
            JSON.stringify({ id: "1", type: "subscribe", payload: { query: "subscription { ticked { n } }" } }),
          );
        } else if (message.type === "next") write("next", { session: name, n: message.payload.data.ticked.n });
        else if (message.type === "ping") socket.send(JSON.stringify({ type: "pong" }));
        else if (message.type === "error" || message.type === "complete") {
          told = true;
          write("ended", { session: name, type: message.type, text: JSON.stringify(message.payload ?? "") });
          socket.close();
        }
      },
    );
    write("session end", { session: name, code, reason, told, closing });
    await pause(100 + Math.random() * 300);
  }
}

const listening = [
  ...["a", "b"].flatMap((room) => [1, 2, 3].map((client) => roomClient(room, `${room}${client}`))),
  ...[1, 2, 3].map((client) => subscriber(`s${client}`)),
];
await Promise.all([
  ...[1, 2].map((lane) => orders(lane, "http")),
  orders("g", "grpc"),
  orders("q", "graphql"),
  jobs(),
  ...["x", "y", "z"].map(ticks),
  ...["a", "b", "ticked"].map(sender),
  limits(),
  ...["p", "q"].flatMap((key) => [pages(key), readers(key)]),
  tokens(),
  sessions(),
]);
// The last messages of rooms arrive, also at clients that come back.
await pause(15_000);
closing = true;
await Promise.all(listening);
process.exit(0);
