import { existsSync } from "node:fs";
import { run } from "../process.mjs";
import { inTurn } from "./in-turn.mjs";

/** Only one process can install at a time. */
const turn = inTurn();

/** Installs Debian packages; throws with the reason where that is not possible. */
export function aptInstall(packages, log = console.error) {
  return turn(() => install(packages, log));
}

async function install(packages, log) {
  const command = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (!existsSync("/usr/bin/apt-get")) throw new Error(`not installed, and this machine has no apt-get (${command})`);
  if (process.getuid?.() !== 0) throw new Error(`not installed; as root: ${command}`);
  log(`installing ${packages.join(", ")} ...`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" }, timeout: 600_000 };
  // Package lists that are old or missing are the usual cause of a failed installation: fetched only then.
  let result = await run("apt-get", command.split(" ").slice(1), options);
  if (result.code !== 0) {
    await run("apt-get", ["update"], options);
    result = await run("apt-get", command.split(" ").slice(1), options);
  }
  if (result.code !== 0) throw new Error(`${command} failed: ${result.output.trim().split("\n").at(-1)}`);
}
