import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { run } from "../process.mjs";
import { inTurn } from "./in-turn.mjs";

const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "stoa");
/** Maven's own folder is not made for two that write into it. */
const turn = inTurn();

/**
 * The folder with a Java program and everything it needs, from Maven Central. It is kept between runs. Throws with the
 * reason where Java or Maven is missing.
 *
 * @param {string} name of the folder, with the version
 * @param {string[]} artifacts as group:artifact:version
 * @param {(line: string) => void} log
 */
export function jars(name, artifacts, log) {
  return turn(() => fromMaven(name, ["dependency:copy-dependencies"], pom(artifacts), log));
}

/**
 * The folder with a Java program that comes as an archive. As `jars`.
 *
 * @param {string} name
 * @param {string} artifact as group:artifact:version:type:classifier
 * @param {(line: string) => void} log
 */
export function unpacked(name, artifact, log) {
  return turn(() => fromMaven(name, ["dependency:unpack", `-Dartifact=${artifact}`], pom([]), log));
}

async function fromMaven(name, goal, project, log) {
  await requireProgram("java", ["-version"]);
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  await requireProgram("mvn", ["-v"]);
  log(`fetching ${name} from Maven Central ...`);
  await mkdir(cache, { recursive: true });
  const work = await mkdtemp(join(cache, "fetch-"));
  try {
    await writeFile(join(work, "pom.xml"), project);
    const command = ["-q", "-B", ...goal, `-DoutputDirectory=${join(work, "lib")}`];
    const { code, output } = await run("mvn", command, { cwd: work, timeout: 600_000 });
    if (code !== 0) throw new Error(`mvn failed: ${output.trim().split("\n").at(0)}`);
    // Under its name it is there whole or not at all.
    await rename(join(work, "lib"), folder).catch((error) => {
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return folder;
}

async function requireProgram(program, args) {
  const { code } = await run(program, args);
  if (code !== 0) throw new Error(`${program} is not installed`);
}

function pom(artifacts) {
  const dependencies = artifacts.map((artifact) => {
    const [group, id, version] = artifact.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${id}</artifactId><version>${version}</version></dependency>`;
  });
  const own = "<groupId>stoa</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging>";
  return `<project><modelVersion>4.0.0</modelVersion>${own}<dependencies>${dependencies.join("")}</dependencies></project>\n`;
}
