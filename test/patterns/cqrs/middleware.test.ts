import { afterEach, describe, expect, it } from "vitest";
import { App } from "../../../src/app/app.js";
import { CommandTimeout, command, query } from "../../../src/patterns/cqrs/message.js";
import { ConcurrencyError } from "../../../src/patterns/events/errors.js";
import { quiet } from "../events/stores.js";

describe("middleware of commands and queries", () => {
  const apps: App[] = [];
  afterEach(() => Promise.all(apps.splice(0).map((app) => app.stop())));
  const create = (options: object = {}): App => {
    const app = new App();
    app.logger = quiet;
    apps.push(app);
    return app.enableCqrs(options);
  };

  it("Middleware runs once around all attempts of a command that conflicts with another writer", async () => {
    const app = create({ retries: 2 });
    const log: string[] = [];
    app.commands.use(async ({ name }, next) => {
      log.push(`${name} begins`);
      const result = await next();
      log.push(`${name} ends`);
      return result;
    });
    const flaky = command("flaky", {
      handler: (_: unknown, { attempt }) => {
        log.push(`attempt ${attempt}`);
        if (attempt < 3) throw new ConcurrencyError("a-1", 1, 2);
        return "done";
      },
    });
    expect((await app.commands.execute(flaky, null)).value).toBe("done");
    expect(log).toEqual(["flaky begins", "attempt 1", "attempt 2", "attempt 3", "flaky ends"]);
  });

  it("Middleware that throws or does not call next keeps the handler from running", async () => {
    const app = create();
    let ran = 0;
    app.commands.use(({ name }, next) => {
      if (name === "refused") throw new Error("not today");
      return name === "answered" ? "from the middleware" : next();
    });
    const handler = (): string => `run ${++ran}`;
    await expect(app.commands.execute(command("refused", { handler }), null)).rejects.toThrow("not today");
    expect((await app.commands.execute(command("answered", { handler }), null)).value).toBe("from the middleware");
    expect(ran).toBe(0);
    expect((await app.commands.execute(command("run", { handler }), null)).value).toBe("run 1");
  });

  it("The time of a command includes its middleware, whose signal is aborted at the end", async () => {
    const app = create({ commandTimeoutMs: 20 });
    let aborted = false;
    app.commands.use(({ signal }) => {
      signal.addEventListener("abort", () => (aborted = true));
      return new Promise(() => {});
    });
    const quick = command("quick", { handler: () => "never asked" });
    await expect(app.commands.execute(quick, null)).rejects.toThrow(CommandTimeout);
    expect(aborted).toBe(true);
  });

  it("Middleware of commands does not run for queries, and that of queries not for commands", async () => {
    const app = create();
    const seen: string[] = [];
    app.commands.use(({ kind, name }, next) => {
      seen.push(`${kind} ${name} by commands`);
      return next();
    });
    app.queries.use(({ kind, name }, next) => {
      seen.push(`${kind} ${name} by queries`);
      return next();
    });
    await app.commands.execute(command("change", { handler: () => 1 }), null);
    await app.queries.execute(query("ask", { handler: () => 2 }), null);
    expect(seen).toEqual(["command change by commands", "query ask by queries"]);
  });
});
