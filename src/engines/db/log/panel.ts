import type { LivePanel } from "../../../console/panels.js";
import type { QueryStatistics } from "./statistics.js";

/** The part of the live page about statements. */
export function queriesPanel(statistics: QueryStatistics): LivePanel {
  const repeated = statistics.repeated();
  return {
    title: "Database statements",
    facts: [
      { label: "Statements", value: statistics.statements },
      { label: "Slow", value: statistics.slow, ...(statistics.slow > 0 && { tone: "warning" as const }) },
      { label: "Failed", value: statistics.failed, ...(statistics.failed > 0 && { tone: "bad" as const }) },
      { label: "N+1 found", value: repeated.length, ...(repeated.length > 0 && { tone: "bad" as const }) },
    ],
    tables: [
      {
        title: "N+1: the same statement many times in one request",
        columns: ["Route", "Times", "ms", "Caller", "Statement", "Cure"],
        rows: repeated.map(({ route, times, ms, caller, statement, cure }) => [
          route,
          times,
          short(ms),
          caller,
          statement,
          cure,
        ]),
        empty: "No statement ran many times in one request.",
      },
      {
        title: "Statements per request",
        columns: ["Route", "Requests", "Mean", "Most", "ms per request"],
        rows: statistics
          .routes()
          .map(({ route, requests, statements, most, ms }) => [
            route,
            requests,
            short(statements / requests),
            most,
            short(ms / requests),
          ]),
        empty: "No request has used the database yet.",
      },
      {
        title: "Slowest statements",
        columns: ["ms", "Rows", "Route", "Caller", "Statement"],
        rows: statistics
          .slowest()
          .map(({ ms, rows, route, caller, statement }) => [short(ms), rows, route, caller, statement]),
        empty: "No statements yet.",
      },
    ],
  };
}

function short(value: number): number {
  return Math.round(value * 10) / 10;
}
