import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { placesOf } from "../../src/cli/completion/places.js";
import { common } from "../../src/cli/run-cli.js";
import { runCommand } from "./run-command.js";

const scriptFor = async (shell: string): Promise<string> => {
  const { code, out, err } = await runCommand("/", "completion", shell);
  expect([code, err]).toEqual([0, ""]);
  return out;
};

/** The words that bash offers for the last of the given words. */
async function offered(script: string, ...words: string[]): Promise<string[]> {
  const list = words.map((word) => `'${word}'`).join(" ");
  const call = `${script}\nCOMP_WORDS=(stoa ${list}); COMP_CWORD=${words.length}; _stoa; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["-c", call]);
  return stdout.split("\n").filter((line) => line !== "");
}

describe("stoa completion", () => {
  it("The script for bash completes commands, commands of groups, options and shells", async () => {
    const script = await scriptFor("bash");
    expect(await offered(script, "m")).toEqual(["mcp", "migrate", "messages"]);
    expect(await offered(script, "migrate", "s")).toEqual(["status", "sql", "squash"]);
    expect(await offered(script, "routes", "--")).toEqual(["--json", "--app", "--config", "--verbose", "--help"]);
    expect(await offered(script, "migrate", "make", "--no")).toContain("--no-input");
    expect(await offered(script, "completion", "f")).toEqual(["fish"]);
    expect(await offered(script, "--v")).toEqual(["--version"]);
    // The value of an option is left to the completion of file names.
    expect(await offered(script, "openapi", "--out", "o")).toEqual([]);
    expect(await offered(script, "openapi", "--out", "a.json", "--ch")).toEqual(["--check"]);
  });

  it("The scripts for zsh and fish describe commands and options", async () => {
    const zsh = await scriptFor("zsh");
    expect(zsh).toMatch(/^#compdef stoa\n/);
    expect(zsh).toContain("'status:show which migrations are applied'");
    expect(zsh).toContain("'--json:print a JSON list'");
    const fish = await scriptFor("fish");
    expect(fish).toContain(
      `complete -c stoa -n "__stoa_at ' migrate'" -a status -d 'show which migrations are applied'`,
    );
    expect(fish).toMatch(
      /^complete -c stoa -n "__stoa_at ' openapi'" -l out -r -F -d 'write the document to this file'$/m,
    );
    expect(fish).toMatch(/^complete -c stoa -n "__stoa_at ''" -s h -l help -d 'show this text'$/m);
  });

  it("The page about the command line names every command", async () => {
    const page = await readFile(new URL("../../docs/command-line.md", import.meta.url), "utf8");
    for (const { path } of await placesOf(commands, common)) {
      for (const word of path.split(" ").slice(1)) expect(page).toMatch(new RegExp(`\`(?:stoa )?${word}\``));
    }
  });

  it("A shell that is missing or unknown is refused with those that exist", async () => {
    expect((await runCommand("/", "completion")).err).toBe("stoa: stoa completion needs a shell: bash, zsh, fish\n");
    const { code, err } = await runCommand("/", "completion", "fisch");
    expect(err).toBe("stoa: there is no completion for 'fisch', only bash, zsh, fish; did you mean 'fish'?\n");
    expect(code).toBe(1);
  });
});
