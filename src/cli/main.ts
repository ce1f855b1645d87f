#!/usr/bin/env node
import { commands } from "./commands.js";
import { runCli } from "./run-cli.js";
import { runProcess } from "./run-process.js";

await runProcess((call) => runCli(process.argv.slice(2), commands, call));
