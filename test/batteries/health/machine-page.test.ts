import { App } from "stoa";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { quiet } from "../../patterns/events/stores.js";

interface Panel {
  readonly title: string;
  readonly badge: { readonly text: string };
  readonly tables: readonly { readonly rows: readonly unknown[][] }[];
  readonly actions: { readonly id: string; readonly names: readonly string[] };
}

function machineApp(guards: readonly (() => boolean)[] = []): App {
  const app = new App().enableHealthChecks({ version: "2.1", admin: { guards } });
  app.healthCheck("search", () => ({ status: "DOWN", message: "no reply" }), { critical: false });
  app.logger = quiet;
  onTestFinished(() => app.stop());
  return app;
}

const panelOf = async (app: App): Promise<Panel> =>
  ((await (await app.request("/_machine/view")).json()) as { panels: [Panel] }).panels[0];

const drain = (app: App, id: string): Promise<Response> =>
  app.request("/_machine/act", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, action: "drain" }),
  }) as Promise<Response>;

/** The signals that are sent, which would end the tests. */
function signals(): unknown[][] {
  const kill = vi.spyOn(process, "kill").mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  return kill.mock.calls;
}

describe("the page of the machine", () => {
  it("Operators see the state of the machine and of each check", async () => {
    const app = machineApp();
    expect((await app.request("/_machine")).status).toBe(200);
    const { badge, tables, actions } = await panelOf(app);
    expect(badge.text).toBe("DEGRADED");
    const rows = tables[0]!.rows.map(([name, status, , message]) => [name, (status as { text: string }).text, message]);
    expect(rows).toEqual([
      ["application", "UP", ""],
      ["search", "DOWN", "no reply"],
    ]);
    expect(actions.names).toEqual(["drain"]);
  });

  it("To drain a machine is to send it the signal to stop", async () => {
    const app = machineApp();
    const { actions } = await panelOf(app);
    const sent = signals();
    const listener = (): void => {};
    process.on("SIGTERM", listener);
    onTestFinished(() => void process.off("SIGTERM", listener));
    expect((await drain(app, actions.id)).status).toBe(200);
    expect(sent).toEqual([[process.pid, "SIGTERM"]]);
  });

  it("A machine is not drained under another name, nor against a guard", async () => {
    const sent = signals();
    const app = machineApp();
    expect((await drain(app, "another")).status).toBe(400);
    const guarded = machineApp([() => false]);
    expect((await drain(guarded, (await panelOf(app)).actions.id)).status).toBe(403);
    expect((await guarded.request("/_machine/view")).status).toBe(403);
    expect(sent).toEqual([]);
  });

  it("Outside of development the page needs guards", async () => {
    vi.stubEnv("STOA_ENV", "production");
    onTestFinished(() => void vi.unstubAllEnvs());
    await expect(machineApp().request("/_machine")).rejects.toThrow("enableHealthChecks({ admin: ... }) needs guards");
  });
});
