/** A client adds jobs, some with a key, some in a transaction, until each is confirmed. A worker runs them, and a schedule. */
import { createApp, mayBlock, pause, persist, repeat, role, start, times, write } from "./pattern.mjs";

const app = createApp();
app.enableJobs(times);

const run =
  (kind) =>
  async (value, { id, attempt, signal }) => {
    write("begun", { job: kind, id, attempt });
    if (Math.random() < 0.5) await pause(Math.random() * 10);
    // Some attempts fail, and some take longer than they may.
    if (Math.random() < 0.02) throw new Error("by chance");
    if (kind === "plain" && Math.random() < 0.01) await pause(400);
    mayBlock(0.002);
    write("ran", { job: kind, id, attempt, n: value?.n, late: signal.aborted });
  };
const options = { retries: 1000, backoff: "10ms", concurrency: 10 };
const plain = app.job("plain", { ...options, timeout: "300ms" }, run("plain"));
const unique = app.job("unique", options, run("unique"));
if (role === "worker") app.job("tick", { ...options, schedule: "300ms" }, run("tick"));
await start(app);

const settings = { idle_in_transaction_session_timeout: 3000 };

if (role === "client") {
  await repeat(4, async (loop, number) => {
    const n = `${process.pid}-${loop}-${number}`;
    const key = `k${Math.floor(Math.random() * 10)}`;
    const kind = Math.floor(Math.random() * 3);
    const id = await persist(() => {
      if (kind === 0) return plain.enqueue({ n }, { delay: Math.random() < 0.2 ? Math.random() : 0 });
      if (kind === 1) return unique.enqueue({ n }, { key });
      return app.database.transaction(
        async (tx) => {
          await tx.execute("insert into stored (n) values ($1) on conflict do nothing", [n]);
          return plain.enqueue({ n }, { tx });
        },
        { settings },
      );
    });
    if (id !== undefined) write("sent", { id, n, job: kind === 1 ? "unique" : "plain", stored: kind === 2 });
    await pause(Math.random() * 60);
  });
}
