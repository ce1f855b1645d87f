/**
 * The program of the thread that keeps the leases of a process whose event loop is blocked. It is text for the reasons of the
 * watchdog (`server/process/watchdog-thread.ts`): the same from the sources, in a bundle and under a loader.
 *
 * It counts its own ticks, not seconds: a machine that slept, or a process that was stopped, has made no ticks, and its leases
 * end. It connects when the main thread is silent, and disconnects when that is back: a connection for each process that is idle
 * most of the time would be taken from others. The server must ask for the way of authentication that the main thread has
 * accepted, over the same kind of transport: it could otherwise get a password in clear text here.
 */
export const pulseProgram: string = `
"use strict";
const { parentPort, workerData } = require("node:worker_threads");
const { turns, pg, silence } = workerData;
// At the start: on a busy machine a lease can end while it is loaded.
const { Client } = require(pg);
const events = {
  none: null,
  password: "authenticationCleartextPassword",
  md5: "authenticationMD5Password",
  "scram-sha-256": "authenticationSASL",
};
let statements = [];
let route = null;
let period = 1000;
let timer = null;
let seen = -1;
let still = 0;
let client = null;
let busy = false;

parentPort.on("message", (given) => {
  ({ statements, route, period } = given);
  if (timer !== null) clearInterval(timer);
  timer = setInterval(tick, period);
});

async function tick() {
  const now = Atomics.load(turns, 0);
  if (now !== seen) {
    seen = now;
    still = 0;
    if (!busy) disconnect();
    return;
  }
  still++;
  if (busy || route === null || still * period > silence) return;
  busy = true;
  try {
    client ??= await connect();
    for (const { text, values } of statements) await client.query(text, values);
  } catch {
    disconnect();
  } finally {
    busy = false;
  }
}

async function connect() {
  const { ssl, checksName, method, bindsChannel, applicationName, ...account } = route;
  const made = new Client({
    ...account,
    application_name: applicationName,
    ssl: ssl === false ? false : { ...ssl, ...(checksName ? {} : { checkServerIdentity: () => undefined }) },
    connectionTimeoutMillis: period * 2,
    query_timeout: period * 2,
    enableChannelBinding: bindsChannel,
  });
  made.on("error", () => {});
  for (const event of Object.values(events)) {
    if (event !== null && event !== events[method]) {
      made.connection.on(event, () => made.connection.stream.destroy(new Error("another way of authentication")));
    }
  }
  await made.connect();
  return made;
}

function disconnect() {
  client?.end().catch(() => {});
  client = null;
}
`;
