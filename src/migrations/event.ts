import type { Direction } from "./plan.js";

export type MigrationEvent =
  /** Another process is migrating this database. */
  | { readonly type: "waiting" }
  | { readonly type: "start"; readonly name: string; readonly direction: Direction }
  | { readonly type: "operation"; readonly name: string; readonly direction: Direction; readonly description: string }
  /** Its duration is null when it was recorded only (`fake`). */
  | { readonly type: "done"; readonly name: string; readonly direction: Direction; readonly durationMs: number | null }
  /** A squashed migration is recorded, because all that it replaces is applied. */
  | { readonly type: "adopted"; readonly name: string };

/** An event as a line for people. */
export function eventLine(event: MigrationEvent): string {
  switch (event.type) {
    case "waiting":
      return "another process is migrating this database: waiting for it ...";
    case "start":
      return `${event.direction === "up" ? "applying" : "undoing"} ${event.name}`;
    case "operation":
      return `  ${event.direction === "up" ? "" : "undo: "}${event.description}`;
    case "done": {
      const how = event.durationMs === null ? "recorded only" : `${Math.round(event.durationMs)} ms`;
      return `${event.direction === "up" ? "applied" : "undone"} ${event.name} (${how})`;
    }
    case "adopted":
      return `recorded ${event.name}: all that it replaces is applied`;
  }
}
