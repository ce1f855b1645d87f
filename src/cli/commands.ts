import type { CommandTable } from "./command.js";

/** The commands of `stoa`: one file each. */
export const commands: CommandTable = {
  new: {
    summary: "create an application from a template: api, saas or events",
    load: async () => (await import("./commands/new.js")).newApp,
  },
  dev: {
    summary: "run the application, and start it again after each change of a source file",
    load: async () => (await import("./commands/dev.js")).dev,
  },
  generate: {
    summary: "write the first lines of a model, route, job, saga or migration",
    load: async () => (await import("./commands/generate.js")).generate,
  },
  shell: {
    summary: "open JavaScript with the application, its models and its database",
    load: async () => (await import("./commands/shell.js")).shell,
  },
  routes: {
    summary: "list the routes of the application, with guards, middleware and place in the source",
    load: async () => (await import("./commands/routes.js")).routes,
  },
  openapi: {
    summary: "print the OpenAPI document of the application, or compare it with a file",
    load: async () => (await import("./commands/openapi.js")).openapi,
  },
  client: {
    summary: "write a typed client of the application, or check that its file is up to date",
    load: async () => (await import("./commands/client.js")).client,
  },
  mcp: {
    summary: "serve the tools, resources and prompts of the application to a model over stdio",
    load: async () => (await import("./commands/mcp.js")).mcp,
  },
  doctor: {
    summary: "check versions, packages, settings, and whether the engines can be reached",
    load: async () => (await import("./commands/doctor.js")).doctor,
  },
  migrate: {
    summary: "bring the database to the models: make, apply, undo and look at migrations",
    load: async () => (await import("./commands/migrate.js")).migrate,
  },
  db: {
    summary: "fill a database, change it to the models of a prototype, or open a shell on it",
    load: async () => (await import("./commands/db.js")).db,
  },
  messages: {
    summary: "look at dead letters and stuck messages of the outbox, send them again or discard them",
    load: async () => (await import("./commands/messages.js")).messages,
  },
  "build-native": {
    summary: "build the native transport with the C compiler of this machine",
    load: async () => (await import("./commands/build-native.js")).buildNative,
  },
  completion: {
    summary: "print a script that completes the commands and options in bash, zsh or fish",
    load: async () => (await import("./commands/completion.js")).completion,
  },
};
