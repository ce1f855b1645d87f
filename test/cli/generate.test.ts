import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { emptyDatabases } from "../engines/db/engines.js";
import { service } from "../support/service.js";
import { Project } from "./project.js";

beforeAll(() => ensureBuilt(), 120_000);

/** Each starts many processes, which load TypeScript. */
const slow = { timeout: 600_000 };

const empty = emptyDatabases(service("postgres"), "pglite:./data");
const configWith = (database: string): string => `import { defineConfig } from "stoa/migrations";
export default defineConfig({ app: "./src/app.ts", models: "./src/models.ts", database: "${database}" });`;
/** As the command says after each file. */
const appWith = (database: string): string => `import { App } from "stoa";
import { orderLineRoutes } from "./order-line-routes.js";
import { refundSaga } from "./refund-saga.js";
import { sendInvoiceJob } from "./send-invoice-job.js";
export const app: App = new App();
app.enableDatabase("${database}");
app.enableSaga();
app.registerBlueprint(orderLineRoutes());
export const sendInvoice = sendInvoiceJob(app);
export const refund = app.saga(refundSaga);
app.onEvent("shutdown", () => console.log("stopped"));`;

describe("stoa generate and stoa shell", slow, () => {
  it("Generated files are those of one application, which the shell starts without listening", async () => {
    const database = await empty();
    const files = {
      "stoa.config.ts": configWith(database),
      "src/models.ts": 'export * from "./order-line-model.js";',
      "src/app.ts": appWith(database),
    };
    const project = await Project.create(files, ["tsx", "@electric-sql", "zod"]);
    const generate = async (...args: string[]): Promise<string> => {
      const run = await project.run(["generate", ...args]);
      expect(run).toMatchObject({ code: 0 });
      return run.stdout;
    };
    expect(await generate("model", "OrderLine")).toBe("wrote src/order-line-model.ts\n");
    expect(await generate("route", "order-line")).toBe(
      "wrote src/order-line-routes.ts\nwrote test/order-line-routes.test.ts\n",
    );
    expect(await generate("job", "send-invoice")).toBe("wrote src/send-invoice-job.ts\n");
    expect(await generate("saga", "refund")).toBe("wrote src/refund-saga.ts\n");
    expect((await project.stoa(["migrate", "make"])).stdout).toContain("create table order_lines");
    expect(await generate("migration", "fill-totals")).toBe("wrote migrations/0002_fill_totals.ts\n");
    expect(await project.stoa(["migrate", "up"])).toMatchObject({ code: 0 });

    const test = ["--import", "tsx", "--test", "test/order-line-routes.test.ts"];
    const env = { ...process.env, NODE_OPTIONS: "", NODE_TEST_CONTEXT: undefined };
    const { stdout } = await promisify(execFile)(process.execPath, test, { cwd: project.folder, env });
    expect(stdout).toMatch(/(#|ℹ) pass 1/);

    const shell = project.start(["shell"], {}, "pipe");
    shell.child.stdin!.end(`const { refund, sendInvoice } = await import("${project.folder}/src/app.ts")
await OrderLine.objects.create({ name: "tea" })
(await OrderLine.objects.count()) + 41
(await db.fetchval(sql\`select name from order_lines\`)).toUpperCase()
typeof await sendInvoice.enqueue({ id: "7" })
(await refund.wait(await refund.start({ id: "1" }))).status
await (await app.fetch(new Request("http://localhost/order-line/5"))).status
`);
    const ended = await shell.end();
    expect(ended.stdout.split("\n")).toEqual(
      expect.arrayContaining(["42", "'TEA'", "'string'", "'completed'", "404", "stopped"]),
    );
    expect(ended.code).toBe(0);
  });

  it("The shell goes on after an error, takes statements of several lines, and ends with 1", async () => {
    const project = await Project.create({ "app.mjs": 'import { App } from "stoa";\nexport const app = new App();\n' });
    const shell = project.start(["shell", "--app", "app.mjs"], {}, "pipe");
    shell.child.stdin!.end(`nope
throw new Error("thrown")
await Promise.reject(new Error("rejected"))
function twice(n) {
  return n * 2
}
twice(21)
`);
    const { stdout, code } = await shell.end();
    for (const text of ["nope is not defined", "Error: thrown", "Error: rejected"]) expect(stdout).toContain(text);
    expect(stdout.split("\n")).toContain("42");
    expect(code).toBe(1);
  });

  it("Files that exist are not changed, and mistakes are told", async () => {
    const project = await Project.create({ "src/book-model.ts": "export {};" });
    const told = async (...args: string[]): Promise<string> => {
      const run = await project.run(["generate", ...args]);
      expect(run).toMatchObject({ code: 1, stdout: "" });
      return run.stderr;
    };
    expect(await told("model", "Book")).toContain("src/book-model.ts exists already: choose another name");
    expect(await project.read("src/book-model.ts")).toBe("export {};");
    expect(await told("modle", "Book")).toContain("there is no kind 'modle'");
    expect(await told("modle", "Book")).toContain("did you mean 'model'?");
    expect(await told()).toContain("stoa generate needs KIND and NAME: model, route, job, saga, migration");
    expect(await told("migration")).toContain("stoa generate migration needs NAME");
    expect(await told("model", "order line")).toContain('not "order line"');
    expect(await told("route", "../x")).toContain('not "../x"');
  });
});
