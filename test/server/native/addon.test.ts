import { execFile } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { packageFolder } from "../../../src/kit/package-folder.js";
import { findAddon } from "../../../src/server/native/addon.js";
import { wireOf } from "../../../src/server/native/wire.js";
import { sourceUrl } from "../../support/source-url.js";
import { withoutNative } from "../support.js";

const target = `${process.platform}-${process.arch}`;
const usesGlibc = process.platform === "linux" && readFileSync("/proc/self/maps", "latin1").includes("-linux-gnu");

/** The folder of an installed package, without an addon. */
function emptyPackage(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-native-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "native/build"), { recursive: true });
  return folder;
}

const builtFile = join(packageFolder(), `native/build/wire-${target}.node`);

/** Makes the package for this machine as a release does, installs it, and returns its name. */
async function addPrebuilt(folder: string): Promise<string> {
  const { writePackage } = await import(`${packageFolder()}/native/prebuild.mjs`);
  const name = `wire-${target}-gnu`;
  const made: string = writePackage(folder, `${target}-gnu`, builtFile);
  mkdirSync(join(folder, "node_modules/@stoa"), { recursive: true });
  renameSync(made, join(folder, "node_modules/@stoa", name));
  return `@stoa/${name}`;
}

describe.skipIf(process.platform !== "linux")("the native addon", () => {
  it("An addon that is not built has its cure in the reason", () => {
    expect(findAddon(emptyPackage())).toBe("it is not built: run `npx stoa build-native`");
  });

  it("A file that is no addon is not used", () => {
    const folder = emptyPackage();
    writeFileSync(join(folder, `native/build/wire-${target}.node`), "no addon");
    expect(findAddon(folder)).toMatch(/^it cannot be loaded: /);
  });

  it.skipIf(withoutNative !== undefined)(
    "An addon that is cut off or of another processor is not used, and the process lives",
    async () => {
      const folder = emptyPackage();
      const file = join(folder, `native/build/wire-${target}.node`);
      const whole = readFileSync(builtFile);
      // A system that loads one of these may kill the process.
      const module = sourceUrl("server/native/addon.ts");
      const script = `const { findAddon } = await import(${JSON.stringify(module)}); console.log(findAddon(${JSON.stringify(folder)}));`;
      const reason = async (bytes: Uint8Array): Promise<string> => {
        writeFileSync(file, bytes);
        const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
        return stdout;
      };
      for (const size of [1000, 8192, whole.length >> 1]) {
        expect(await reason(whole.subarray(0, size))).toBe("its file is cut off: run `npx stoa build-native`\n");
      }
      const other = Buffer.from(whole);
      other.writeUInt16LE(process.arch === "arm64" ? 62 : 183, 18);
      expect(await reason(other)).toMatch(/^it cannot be loaded: /);
    },
  );

  it.skipIf(withoutNative !== undefined)(
    "A system without the header of io_uring builds an addon with epoll",
    async () => {
      const folder = emptyPackage();
      mkdirSync(join(folder, "include/linux"), { recursive: true });
      writeFileSync(join(folder, "include/linux/io_uring.h"), "");
      const { buildNative } = await import(`${packageFolder()}/native/build.mjs`);
      const out = join(folder, `native/build/wire-${target}.node`);
      await buildNative({ out, flags: [`-I${join(folder, "include")}`, "-Werror"], again: true });
      expect(wireOf(findAddon(folder), "io_uring")).toBe("the system refuses io_uring: ENOSYS");
      expect(wireOf(findAddon(folder), "auto")).toMatchObject({ engine: "epoll" });
    },
  );

  it.skipIf(withoutNative !== undefined || !usesGlibc)(
    "A prebuilt addon is used before one that was built, if it has the checksum of the release",
    async () => {
      const folder = emptyPackage();
      const name = await addPrebuilt(folder);
      expect(findAddon(folder)).toMatchObject({ interface: 4, origin: name });
      appendFileSync(join(folder, "node_modules", name, "wire.node"), "more");
      const refusal = `the file of ${name} is not the one that this version was released with`;
      expect(findAddon(folder)).toBe(refusal);
      copyFileSync(builtFile, join(folder, `native/build/wire-${target}.node`));
      expect(findAddon(folder)).toMatchObject({ origin: `built here; ${refusal}` });
      rmSync(join(folder, "native/checksums.json"));
      expect(findAddon(folder)).toMatchObject({ origin: `built here; ${refusal}` });
    },
  );

  it.skipIf(withoutNative !== undefined)(
    "The published package names the prebuilt ones of its version, and the repository none",
    async () => {
      const { listPackages, writePackage } = await import(`${packageFolder()}/native/prebuild.mjs`);
      const folder = emptyPackage();
      const manifest = join(folder, "package.json");
      copyFileSync(join(packageFolder(), "package.json"), manifest);
      const before = readFileSync(manifest, "utf8");
      const { version } = JSON.parse(before);
      listPackages(folder, true);
      expect(readFileSync(manifest, "utf8")).toBe(before);
      const made = writePackage(folder, "linux-arm64-musl", builtFile);
      expect(JSON.parse(readFileSync(join(made, "package.json"), "utf8"))).toMatchObject({
        name: "@stoa/wire-linux-arm64-musl",
        version,
        os: ["linux"],
        cpu: ["arm64"],
        libc: ["musl"],
      });
      listPackages(folder, true);
      const { optionalDependencies } = JSON.parse(readFileSync(manifest, "utf8"));
      expect(optionalDependencies).toEqual({ "@stoa/wire-linux-arm64-musl": version });
      listPackages(folder, false);
      expect(readFileSync(manifest, "utf8")).toBe(before);
      writeFileSync(manifest, before.replace(`"version": "${version}"`, '"version": "99.0.0"'));
      expect(() => listPackages(folder, true)).toThrow("@stoa/wire-linux-arm64-musl is old");
    },
  );
});
