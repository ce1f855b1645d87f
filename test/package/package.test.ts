import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ensurePacked } from "../../scripts/pack.mjs";
import { compile } from "../support/compiler.js";
import { isLong } from "../support/long.js";

const root = join(import.meta.dirname, "../..");
const subpaths = Object.keys(manifest.exports)
  .filter((path) => path !== "./package.json")
  .map((path) => path.replace(/^\./, manifest.name));

let folder: string;
let tarball: string;

/** A consumer who installed the package and nothing else. */
beforeAll(async () => {
  tarball = await ensurePacked();
  folder = await mkdtemp(join(tmpdir(), "stoa-package-"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await npm("install", tarball, "--omit=dev", "--omit=optional", "--omit=peer", "--prefer-offline", "--no-audit");
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the published package", { timeout: 600_000 }, () => {
  it("The published package installs its dependencies and nothing more", async () => {
    const installed = (await readdir(join(folder, "node_modules"))).filter((name) => !name.startsWith("."));
    expect(installed.sort()).toEqual([manifest.name, ...Object.keys(manifest.dependencies)].sort());
  });

  it("The import of each subpath works with no optional package installed", async () => {
    const code = `
      for (const name of ${JSON.stringify(subpaths)}) console.log(name, Object.keys(await import(name)).length > 0);
    `;
    const { stdout } = await node("--input-type=module", "--eval", code);
    expect(stdout).toBe(subpaths.map((name) => `${name} true\n`).join(""));
  });

  it.each([
    ["NodeNext", "NodeNext"],
    ["ESNext", "Bundler"],
  ])(
    "The published package type-checks in a project with module %s and resolution %s",
    async (module, moduleResolution) => {
      await installNodeTypes();
      const config = `tsconfig.${moduleResolution}.json`;
      // Our declarations are checked too, once: a user may have skipLibCheck off.
      const skipLibCheck = moduleResolution === "Bundler";
      const compilerOptions = {
        module,
        moduleResolution,
        target: "ES2022",
        strict: true,
        noEmit: true,
        types: ["node"],
        skipLibCheck,
      };
      await writeFile(join(folder, config), JSON.stringify({ compilerOptions, files: ["app.ts"] }));
      await writeFile(join(folder, "app.ts"), consumer());
      expect(await compile(folder, config)).toBe("");
    },
  );

  it("The published types show no internal member, and no machinery on an application", async () => {
    const published = join(folder, "node_modules", manifest.name, "dist");
    for (const name of await readdir(published, { recursive: true })) {
      if (name.endsWith(".d.ts"))
        expect(await readFile(join(published, name), "utf8"), name).not.toContain("@internal");
    }
    const code = `
      import { App } from "stoa";
      const names = new Set();
      for (let o = new App(); o !== Object.prototype; o = Object.getPrototypeOf(o)) {
        for (const name of Object.getOwnPropertyNames(o)) names.add(name);
      }
      console.log(JSON.stringify([...names].filter((name) => !/_|^enable|^constructor$/.test(name)).sort()));
    `;
    const { stdout } = await node("--input-type=module", "--eval", code);
    expect(JSON.parse(stdout)).toEqual(
      (
        "addGrpcService addGuard asyncapi background cache circuitBreakers commands database deadLetters debug delete endSessions env " +
        "eventStore exceptionHandler fetch get graphql grpc grpcChannel head healthCheck install invalidateCache job jobs " +
        "kvstore listen logger mcp messaging metrics nodeListener onEvent onMessage openapi options outbox override patch " +
        "phase post prompt publish " +
        "publishBatch put queries registerBlueprint registerScoped registerSingleton registerTransient request resource " +
        "rooms route run saga sagas sessionsOf start state stop subscribe tool tracer trustProxy trustedHosts use websocket"
      ).split(" "),
    );
  });

  it("The published package passes publint", async () => {
    const { messages } = await publint({
      pack: { tarball: new Uint8Array(await readFile(tarball)).buffer },
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, manifest))).toEqual([]);
  });

  it("The files of the API pages, of the playground and of the console are published with their licences", async () => {
    const files = await filesIn("dist");
    expect([...files.keys()]).toEqual(
      expect.arrayContaining([
        "openapi/assets/swagger-ui.css.br",
        "openapi/assets/swagger-ui-bundle.js.br",
        "openapi/assets/redoc.standalone.js.br",
        "openapi/assets/swagger-ui-dist/LICENSE",
        "openapi/assets/swagger-ui-dist/NOTICE",
        "openapi/assets/swagger-ui-dist/swagger-ui-bundle.js.LICENSE.txt",
        "openapi/assets/redoc/LICENSE",
        "openapi/assets/redoc/bundles/redoc.standalone.js.LICENSE.txt",
        expect.stringMatching(/^openapi\/assets\/redoc\/bundles\/.*\.worker\.js\.LICENSE\.txt$/),
        "graphql/assets/graphiql.css.br",
        "graphql/assets/graphiql.js.br",
        "graphql/assets/LICENSES",
        "console/client.js",
      ]),
    );
    expect([...files].filter(([, size]) => size === 0)).toEqual([]);
    const licences = await textOf("dist/graphql/assets/LICENSES");
    for (const name of ["graphiql", "react-dom", "codemirror", "markdown-it"]) expect(licences).toContain(`${name} `);
  });

  it("An application with the package serves its API pages", async () => {
    const code = `
      import { App } from "stoa";
      const app = new App().enableOpenapi();
      await app.start();
      for (const path of ["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/redoc/redoc.standalone.js"]) {
        const response = await app.request(path);
        console.log(response.status, (await response.text()).length > 100_000);
      }
      await app.stop();
    `;
    const { stdout } = await node("--input-type=module", "--eval", code);
    expect(stdout).toBe("200 true\n".repeat(3));
  });

  it("An application with the package serves the pages of the console", async () => {
    const code = `
      import { App } from "stoa";
      const app = new App().enableLivePage().enableEventSourcing("memory");
      const headers = { host: "localhost" };
      for (const path of ["/_stoa", "/_stoa/event-store"]) {
        const response = await app.request(path, { headers });
        console.log(response.status, (await response.text()).includes("<script"));
      }
      await app.stop();
    `;
    const { stdout } = await node("--input-type=module", "--eval", code);
    // The log says that events are kept in memory.
    expect(stdout.match(/^200 true$/gm)).toHaveLength(2);
  });

  it("Links on the pages of the package lead to its files and to their headings", async () => {
    const files = [...(await filesIn(".")).keys()];
    const pages = files.filter((name) => /^(docs\/)?[^/]+\.md$|^llms\.txt$/.test(name));
    const texts = new Map(await Promise.all(pages.map(async (name) => [name, await textOf(name)] as const)));
    const broken = [...texts].flatMap(([name, text]) => {
      const links = [
        ...text
          .replace(/^ *```.*?^ *```/gms, "")
          .matchAll(/\]\((?!https?:|mailto:|[\w/-]+\.(?:png|svg)\))([^)#\s]*)(?:#([^)\s]*))?\)/g),
      ];
      return links
        .filter(([, path, heading]) => {
          const target = path === "" ? name : join(dirname(name), path!);
          if (!files.includes(target)) return true;
          return heading !== undefined && !headings(texts.get(target) ?? "").includes(heading);
        })
        .map(([link]) => `${name}: ${link}`);
    });
    expect(pages).toEqual(expect.arrayContaining(["README.md", "llms.txt"]));
    expect(await textOf("llms-full.txt")).toContain(texts.get("docs/sagas.md")!.trim());
    expect(broken).toEqual([]);
  });

  it("The error for a missing Kafka client names the version that is accepted", async () => {
    const code = `
      import { App } from "stoa";
      await new App().enableMessaging({ brokers: ["127.0.0.1:1"] }).start().catch((error) => console.log(error.message));
    `;
    const { stdout } = await node("--input-type=module", "--eval", code);
    const range = manifest.peerDependencies["@platformatic/kafka"].replace(/^~|\.0$/g, "");
    expect(stdout).toContain(`npm install @platformatic/kafka@${range}`);
  });

  it("The published package is small: below 2.9 MB, 450 files and 7.5 MB on the disk", async () => {
    const sizes = [...(await filesIn(".")).values()];
    expect((await stat(tarball)).size).toBeLessThan(2.9e6);
    expect(sizes.length).toBeLessThan(450);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(7.5e6);
  });

  it.runIf(isLong)("The published package resolves to types that match the modules", async () => {
    const attw = join(root, "node_modules/@arethetypeswrong/cli/dist/index.js");
    await expectSuccess(attw, tarball, "--profile=esm-only", "--no-color", "--no-emoji");
  });
});

const textOf = (path: string): Promise<string> => readFile(join(folder, "node_modules", manifest.name, path), "utf8");

/** The anchors of a page, as its readers' programs make them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** The files in a folder of the installed package, with their sizes. */
async function filesIn(path: string): Promise<Map<string, number>> {
  const base = join(folder, "node_modules", manifest.name, path);
  const found = new Map<string, number>();
  for (const name of (await readdir(base, { recursive: true })).sort()) {
    const entry = await stat(join(base, name));
    if (entry.isFile()) found.set(name, entry.size);
  }
  return found;
}

async function expectSuccess(...args: string[]): Promise<void> {
  const complaint = await node(...args).then(
    () => "",
    ({ stdout, stderr }) => stdout + stderr,
  );
  expect(complaint).toBe("");
}

/** Uses the main entry as the guides do, and the types of every other one. */
function consumer(): string {
  const imports = subpaths.map((subpath, index) => `import * as module${index} from ${JSON.stringify(subpath)};`);
  return `${imports.join("\n")}
import { App, Response } from "stoa";

const app: App = new App();
app.get("/", () => "hello");
app.get("/books/{id}", (request) => {
  const id: string = request.params.id;
  // @ts-expect-error the path has no such parameter
  request.params.name;
  return id === "0" ? Response.json({ error: "Book not found" }, { status: 404 }) : { id };
});
export default [${subpaths.map((_, index) => `module${index}`).join(", ")}];
`;
}

/** A Node project has these; nothing else of ours may be needed. */
async function installNodeTypes(): Promise<void> {
  const modules = join(folder, "node_modules");
  if ((await readdir(modules)).includes("@types")) return;
  const { version } = JSON.parse(await readFile(join(root, "node_modules/@types/node/package.json"), "utf8"));
  await npm("install", `@types/node@${version}`, "--prefer-offline", "--no-audit", "--no-save");
}

const execute = promisify(execFile);

const node = (...args: string[]) => execute(process.execPath, args, { cwd: folder });

function npm(command: string, ...args: string[]) {
  return execute("npm", [command, ...args], { cwd: folder, maxBuffer: 16 * 1024 * 1024 });
}
