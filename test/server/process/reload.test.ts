import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { RunOptions } from "../../../src/server/run-options.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";
import { get, Program, type ProgramOptions, patient, until } from "./program.js";

/** Compiled once: with every restart tsx would compile the sources again. */
const kit = pathToFileURL(compiled(fileURLToPath(new URL("./fixtures/kit.ts", import.meta.url)))).href;

const options: RunOptions = { port: 0, reload: true };

/** A project in a folder of its own, with a response that the tests change. */
class Project {
  readonly folder = mkdtempSync(join(tmpdir(), "stoa-reload-"));

  constructor(setup = "") {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true }));
    mkdirSync(join(this.folder, "lib"));
    this.write("lib/answer.ts", 'export const answer: string = "one";');
    this.write(
      "app.ts",
      `import { createTarget, Response, run } from ${JSON.stringify(kit)};
      import { answer } from "./lib/answer.js";
      ${setup}
      const target = createTarget();
      run({ ...target, dispatch: (request) => request.path === "/answer" ? Response.text(answer) : target.dispatch(request) }, ${JSON.stringify(options)});`,
    );
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  run(options: ProgramOptions = {}): Program {
    return new Program({ file: join(this.folder, "app.ts"), compile: false, cwd: this.folder, ...options });
  }
}

const answers = (url: string, text: string): Promise<void> =>
  until(() =>
    get(`${url}/answer`).then(
      (answer) => answer.text === text,
      () => false,
    ),
  );

describe("reload", patient, () => {
  // tsx runs this project as CommonJS, and loads modules that are imported later a second time.
  it.each([...(isLong ? [{ args: ["--transport", "node"] }] : []), { args: ["--http2"] }])(
    "Reload keeps the address with a transport that is loaded later: $args",
    async ({ args }) => {
      const project = new Project();
      const program = project.run({ args });
      const url = await program.url();
      await answers(url, "one");
      project.write("lib/answer.ts", 'export const answer: string = "two";');
      await answers(url, "two");
      program.child.kill("SIGINT");
      expect((await program.exited).code).toBe(0);
    },
  );

  it("Reload restarts the program when a file changes, names the file, and keeps the address", async () => {
    const project = new Project();
    const program = project.run();
    const url = await program.url();
    expect(program.stdout).toContain("reload on");
    await answers(url, "one");
    project.write("lib/answer.ts", 'export const answer: string = "two";');
    await answers(url, "two");
    await program.shows(/^stoa: ready again after [\d.]+ s: lib\/answer\.ts changed$/m);
    expect(program.stdout.match(/Stoa is listening/g)).toHaveLength(1);
    expect(program.stdout.match(/^shutdown \d+$/gm)).toHaveLength(1);

    program.child.kill("SIGINT");
    expect(await program.exited).toEqual({ code: 0, signal: null });
    expect(program.stdout.match(/^shutdown \d+$/gm)).toHaveLength(2);
  });

  it("Reload waits for the next save after a syntax error, a failed start and a crash", async () => {
    const project = new Project();
    const program = project.run();
    const url = await program.url();
    project.write("lib/answer.ts", "export const answer = ;");
    await program.shows(/the program exited with code 1; it starts again when a file changes/);
    project.write("lib/answer.ts", 'export const answer: string = "mended"; process.env.FAULT = "startup throws";');
    await program.shows(/the program could not start; it starts again/);
    expect(program.stderr).toContain("stoa: startup failed: Error: the database is away");
    const told = await get(`${url}/answer`);
    expect(told).toMatchObject({ status: 503, text: expect.stringContaining("Error: the database is away") });
    project.write("lib/answer.ts", 'export const answer: string = "mended";');
    await answers(url, "mended");
    await get(`${url}/throw`).catch(() => {});
    await program.shows(/the program exited with code 1; it starts again/, 2);
    project.write("lib/answer.ts", 'export const answer: string = "again";');
    await answers(url, "again");
  });

  it("Requests that arrive during a restart wait for the changed program", async () => {
    const project = new Project();
    const program = project.run();
    const url = await program.url();
    let last = "one";
    for (const next of ["two", "three"]) {
      project.write("lib/answer.ts", `export const answer: string = "${next}";`);
      // Each is answered: at first by the program before the change, and never again by it after the first of the next one.
      const seen: string[] = [];
      while (seen.at(-1) !== next) {
        // On a slow machine the old program can end before it responds. Nothing is refused.
        const failed = ({ code }: NodeJS.ErrnoException) => ({ text: code === "ECONNREFUSED" ? code : last });
        seen.push((await get(`${url}/answer`).catch(failed)).text);
      }
      expect([...new Set(seen)].filter((text) => text !== last)).toEqual([next]);
      last = next;
    }
  });

  it("Reload does not wait for a client or a hook that hangs", async () => {
    const project = new Project();
    const program = project.run({ env: { FAULT: "shutdown hangs" } });
    const url = await program.url();
    get(`${url}/slow?ms=60000`).catch(() => {});
    await program.shows(/slow begins/);
    project.write("lib/answer.ts", 'export const answer: string = "two";');
    await answers(url, "two");
  });

  it("Reload kills a program that is blocked", async () => {
    const project = new Project();
    const program = project.run();
    const url = await program.url();
    get(`${url}/block?ms=60000`).catch(() => {});
    await program.shows(/block begins/);
    project.write("lib/answer.ts", 'export const answer: string = "two";');
    await answers(url, "two");
  });

  it("The program ends when its reloader is killed", async () => {
    const project = new Project();
    const program = project.run();
    const url = await program.url();
    program.child.kill("SIGKILL");
    await until(() =>
      get(url).then(
        () => false,
        () => true,
      ),
    );
    await program.shows(/^shutdown \d+$/m);
  });
});
