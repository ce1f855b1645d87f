import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import createManifest from "../../packages/create-stoa/package.json" with { type: "json" };
import { compile } from "../support/compiler.js";
import { root, unpackPackage } from "../support/installed-package.js";
import { isLong } from "../support/long.js";

const execute = promisify(execFile);

/** Holds both packages in `node_modules`, and the applications that the tests create. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-create-"));
  const modules = join(folder, "node_modules");
  await unpackPackage(modules);
  for (const name of ["ws", "pg", "@electric-sql/pglite"]) await link(modules, name);
  await execute("npm", ["pack", join(root, "packages/create-stoa"), "--pack-destination", folder, "--silent"]);
  await mkdir(join(modules, "create-stoa"));
  const tarball = join(folder, `create-stoa-${createManifest.version}.tgz`);
  await execute("tar", ["-xzf", tarball, "-C", join(modules, "create-stoa"), "--strip-components=1"]);
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the package create-stoa", { timeout: 600_000 }, () => {
  it("The package contains its program and every file of the templates, for the same version of Stoa", async () => {
    const published = join(folder, "node_modules/create-stoa");
    expect((await readdir(published)).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json", "templates"]);
    expect(await filesIn(join(published, "templates"))).toEqual(await filesIn(join(root, "templates")));
    expect(createManifest).not.toHaveProperty("dependencies");
    expect(createManifest.version).toBe(manifest.version);
  });

  it.each(["api", "saas", "events"])("The template %s asks for the versions that are tested here", async (template) => {
    const { dependencies, devDependencies } = await readManifest(join(root, "templates", template));
    const typescript = manifest.devDependencies["typescript-7"].replace("npm:typescript@", "");
    const tested: Record<string, string> = { ...manifest.devDependencies, typescript, stoa: manifest.version };
    const peers: Record<string, string> = manifest.peerDependencies;
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies })) {
      const sign = peers[name]?.[0] ?? "^";
      expect([name, range]).toEqual([name, sign + tested[name]]);
    }
  });

  it("`stoa new` of the published package creates the same files", async () => {
    await create("saas", join(folder, "node_modules/stoa/dist/cli/main.js"), "new", "same-app");
    await create("saas", createStoa(), "same-app-too");
    const [one, other] = [join(folder, "same-app"), join(folder, "same-app-too")];
    const names = await filesIn(one);
    expect(names).toEqual(await filesIn(other));
    for (const name of names) {
      const text = await readFile(join(other, name), "utf8");
      expect(await readFile(join(one, name), "utf8")).toBe(text.replaceAll("same-app-too", "same-app"));
    }
  });

  it("An application of the template api compiles, passes its tests, and serves from its compiled files", async () => {
    const app = await Application.create("api");
    await app.testAndBuild();
    const url = await app.serve();
    expect((await post(`${url}/notes`, { text: "buy oranges" })).status).toBe(201);
    expect((await post(`${url}/notes`, {})).status).toBe(422);
    for (const path of ["/notes/1", "/docs", "/health/ready"]) expect((await fetch(url + path)).status, path).toBe(200);
    await app.stop();
  });

  it.runIf(isLong)(
    "An application of the template saas compiles, passes its tests, and migrates and serves from its compiled files",
    async () => {
      const app = await Application.create("saas");
      await app.testAndBuild();
      // Values for development do not count in production.
      await expect(app.run("start")).rejects.toMatchObject({
        code: 1,
        output: expect.stringMatching(/JWT_SECRET: not set/),
      });
      const env = { DATABASE_URL: "pglite:./data", JWT_SECRET: "0123456789abcdef0123456789abcdef" };
      expect(await app.run("migrate", { DATABASE_URL: env.DATABASE_URL })).toContain("applied 0001_initial");
      const url = await app.serve(env);
      const signedUp = await post(`${url}/signup`, { email: "ann@example.org", password: "correct horse battery" });
      const { token } = (await signedUp.json()) as { token: string };
      const me = await fetch(`${url}/me`, { headers: { authorization: `Bearer ${token}` } });
      expect(await me.json()).toMatchObject({ id: 1, email: "ann@example.org" });
      expect((await fetch(`${url}/projects`)).status).toBe(401);
      await app.stop();
    },
  );

  it.runIf(isLong)(
    "An application of the template events compiles, passes its tests, and migrates and serves from its compiled files",
    async () => {
      const app = await Application.create("events");
      await app.testAndBuild();
      const env = { DATABASE_URL: "pglite:./data", BROKER_URL: "memory:" };
      expect(await app.run("migrate", { DATABASE_URL: env.DATABASE_URL })).toContain("applied 0001_initial");
      expect(await app.run("seed", { DATABASE_URL: env.DATABASE_URL })).toContain("seeded by dist/src/seed.js");
      const url = await app.serve(env);
      expect((await post(`${url}/orders`, { id: "o1", customer: "Ann", sku: "cup", quantity: 2 })).status).toBe(200);
      await expect.poll(async () => (await fetch(`${url}/orders/o1`)).json()).toMatchObject({ status: "confirmed" });
      await expect.poll(async () => (await fetch(`${url}/shipments`)).json()).toMatchObject([{ orderId: "o1" }]);
      expect((await fetch(`${url}/_sagas`)).status).toBe(404);
      await app.stop();
    },
  );
});

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** A created application, with the packages that it declares and no others. */
class Application {
  #server: ChildProcess | undefined;
  readonly #env: Record<string, string> = {};

  private constructor(
    private folder: string,
    readonly manifest: Manifest,
  ) {}

  static async create(template: string): Promise<Application> {
    await create(template, createStoa(), template);
    const app = join(folder, template);
    const declared = await readManifest(app);
    const modules = join(app, "node_modules");
    await mkdir(join(modules, ".bin"), { recursive: true });
    for (const name of Object.keys({ ...declared.dependencies, ...declared.devDependencies })) {
      const place = name === "stoa" ? join(folder, "node_modules/stoa") : join(root, "node_modules", name);
      await link(modules, name, place);
      for (const [program, file] of Object.entries(await programsOf(name, place))) {
        // npm makes the programs of a package executable when it installs it.
        if (name === "stoa") await chmod(join(place, file), 0o755);
        await symlink(join(place, file), join(modules, ".bin", program));
      }
    }
    return new Application(app, declared);
  }

  /** Tests it, and follows its Dockerfile: afterwards the folder is that of the image, without compiler or loader. */
  async testAndBuild(): Promise<void> {
    expect(await this.run("test", { NODE_ENV: "" })).toMatch(/^# fail 0$/m);
    const image = `${this.folder}-image`;
    await mkdir(image);
    const dockerfile = await readFile(join(this.folder, "Dockerfile"), "utf8");
    for (const [, instruction, rest] of dockerfile.matchAll(/^([A-Z]+) (.*)$/gm))
      await this.#follow(instruction!, rest!, image);
    this.folder = image;
  }

  async #follow(instruction: string, rest: string, image: string): Promise<void> {
    const [, copied, target] = /^--from=build \/app\/(\S+) \.\/(\S*)$/.exec(rest) ?? [];
    if (["FROM", "WORKDIR", "USER", "EXPOSE"].includes(instruction)) return;
    if (instruction === "RUN") for (const command of rest.split(" && ")) await this.#runStep(command);
    else if (instruction === "ENV")
      for (const [, name, value] of rest.matchAll(/(\S+)=(\S+)/g)) this.#env[name!] = value!;
    else if (instruction === "CMD")
      expect((JSON.parse(rest) as string[]).join(" ")).toBe(this.manifest.scripts["start"]);
    else if (copied !== undefined) await rename(join(this.folder, copied), join(image, target || copied));
    // The folder of the application is that of the first image too.
    else expect(["COPY package.json package-lock.json ./", "COPY . ."]).toContain(`${instruction} ${rest}`);
  }

  async #runStep(command: string): Promise<void> {
    if (command === "npm run build") {
      expect(this.manifest.scripts["build"]).toBe("tsc");
      expect(await compile(this.folder)).toBe("");
      return;
    }
    const folder = join(this.folder, "node_modules/@electric-sql");
    if (command === "rm -rf node_modules/@electric-sql") return rm(folder, { recursive: true, force: true });
    // The packages are linked already.
    expect(["npm ci", "npm prune --omit=dev"]).toContain(command);
    if (command === "npm ci") return;
    const modules = join(this.folder, "node_modules");
    for (const name of Object.keys(this.manifest.devDependencies)) {
      const programs = Object.keys(await programsOf(name, join(modules, name)));
      for (const path of [name, ...programs.map((program) => `.bin/${program}`)]) await rm(join(modules, path));
    }
  }

  /** Runs a script of package.json, with the environment of the image if it is built. */
  async run(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = this.#start(script, env);
    let output = "";
    for (const stream of [child.stdout!, child.stderr!])
      stream.setEncoding("utf8").on("data", (text) => (output += text));
    const code = await new Promise((resolve) => child.on("close", resolve));
    if (code !== 0) throw Object.assign(new Error(`${script} failed:\n${output}`), { code, output });
    return output;
  }

  /** Starts the application of the image and returns its address. */
  serve(env: Readonly<Record<string, string>> = {}): Promise<string> {
    const server = this.#start("start", { ...env, STOA_PORT: "0", STOA_WORKERS: "1" });
    this.#server = server;
    return new Promise((resolve, reject) => {
      let text = "";
      for (const stream of [server.stdout!, server.stderr!]) {
        stream.setEncoding("utf8").on("data", (piece) => {
          text += piece;
          const port = /http:\/\/localhost:(\d+)/.exec(text)?.[1];
          if (port !== undefined) resolve(`http://127.0.0.1:${port}`);
        });
      }
      server.on("exit", () => reject(new Error(text)));
    });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#server!.on("exit", resolve));
    this.#server!.kill("SIGTERM");
    expect(await ended).toBe(0);
  }

  #start(script: string, env: Readonly<Record<string, string>>): ChildProcess {
    const { DATABASE_URL: _url, NODE_OPTIONS: _options, STOA_ENV: _env, VITEST: _vitest, ...rest } = process.env;
    const PATH = `${join(this.folder, "node_modules/.bin")}:${rest["PATH"]}`;
    // Without the shell between them, signals reach the program.
    const child = spawn("/bin/sh", ["-c", `exec ${this.manifest.scripts[script]}`], {
      cwd: this.folder,
      env: { ...rest, PATH, ...this.#env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    return child;
  }
}

const createStoa = (): string => join(folder, "node_modules/create-stoa", createManifest.bin["create-stoa"]);

/** Runs a command that creates an application. */
async function create(template: string, ...command: string[]): Promise<void> {
  const args = [...command, "--template", template, "--no-install", "--no-git"];
  const { stdout } = await execute(process.execPath, args, { cwd: folder });
  expect(stdout).toMatch(/^created \S+ from the template \w+\nnext:\n( {2}.+\n){3}$/);
}

async function link(modules: string, name: string, place = join(root, "node_modules", name)): Promise<void> {
  const path = join(modules, name);
  await mkdir(dirname(path), { recursive: true });
  if (!existsSync(path)) await symlink(place, path);
}

async function programsOf(name: string, place: string): Promise<Readonly<Record<string, string>>> {
  const { bin = {} } = JSON.parse(await readFile(join(place, "package.json"), "utf8"));
  return typeof bin === "string" ? { [name]: bin } : bin;
}

async function readManifest(of: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(of, "package.json"), "utf8")) as Manifest;
}

async function filesIn(path: string): Promise<string[]> {
  const names = await readdir(path, { recursive: true });
  return names.filter((name) => statSync(join(path, name)).isFile()).sort();
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}
