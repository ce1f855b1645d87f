import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** The folder of an installed package, without an addon. */
function emptyPackage(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-native-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "native/build"), { recursive: true });
  return folder;
}

function addPrebuilt(folder: string): string {
  const name = `stoa-native-${target}`;
  mkdirSync(join(folder, "node_modules", name), { recursive: true });
  writeFileSync(join(folder, "node_modules", name, "package.json"), JSON.stringify({ name, version: "0.0.0" }));
  const file = join(folder, "node_modules", name, "wire.node");
  copyFileSync(join(packageFolder(), `native/build/wire-${target}.node`), file);
  return file;
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
      const whole = readFileSync(join(packageFolder(), `native/build/wire-${target}.node`));
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

  it.skipIf(withoutNative !== undefined)("A prebuilt addon is used if it has the checksum of the release", () => {
    const folder = emptyPackage();
    const file = addPrebuilt(folder);
    const refusal = `the file of stoa-native-${target} is not the one that this version was released with`;
    expect(findAddon(folder)).toBe(refusal);
    const sum = createHash("sha256").update(readFileSync(file)).digest("hex");
    writeFileSync(join(folder, "native/checksums.json"), JSON.stringify({ [`stoa-native-${target}`]: "0".repeat(64) }));
    expect(findAddon(folder)).toBe(refusal);
    writeFileSync(join(folder, "native/checksums.json"), JSON.stringify({ [`stoa-native-${target}`]: sum }));
    expect(findAddon(folder)).toMatchObject({ interface: 3 });
  });
});
