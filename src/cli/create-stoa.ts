#!/usr/bin/env node
import { newApp } from "./commands/new.js";
import { runProgram } from "./run-cli.js";
import { runProcess } from "./run-process.js";

/** `npm create stoa`: the program of the package `create-stoa`, which is `stoa new` alone. */
await runProcess((call) => runProgram("create-stoa", process.argv.slice(2), newApp, call));
