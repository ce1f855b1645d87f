import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { App } from "stoa";
import { feature } from "stoa/feature";
import { afterEach, describe, expect, it } from "vitest";
import { MailConfig, mail } from "../src/mail.js";

const from = "Shop <shop@example.com>";
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Received {
  readonly from: string;
  readonly to: string[];
  readonly text: string;
}

/** A real mail server: it keeps what it gets, and can wait before it confirms. */
async function startServer({ port = 0, wait = Promise.resolve() } = {}) {
  const mails: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onRcptTo: ({ address }, _session, next) =>
      next(address.startsWith("nobody@") ? new Error("no such mailbox") : undefined),
    onData(stream, { envelope }, next) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const sender = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        mails.push({ from: sender, to, text: Buffer.concat(chunks).toString() });
        void wait.then(() => next());
      });
    },
  });
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  const stop = () => new Promise<void>((resolve) => server.close(resolve));
  ends.push(stop);
  return { mails, stop, port: (server.server.address() as AddressInfo).port };
}

function makeApp(port: number) {
  const app = new App().install(mail, { from, port, timeout: "5s" });
  const quiet = () => {};
  app.logger = { debug: quiet, info: quiet, warn: quiet, error: quiet, child: () => app.logger };
  ends.push(() => app.stop());
  return app;
}

async function readiness(app: App): Promise<unknown> {
  const { status } = (await (await app.request("/health/ready")).json()) as { status: string };
  return status;
}

describe("sending mail", () => {
  it("A handler sends a mail to several recipients, and the mails are counted", async () => {
    const { mails, port } = await startServer();
    const app = makeApp(port).enableMetrics();
    app.post("/orders", async (request) => {
      const to = ["ada@example.com", "charles@example.com"];
      return { id: await request.mail.send({ to, subject: "Zürich ✓", text: "Your order has been sent." }) };
    });
    const response = await app.request("/orders", { method: "POST" });
    expect(await response.json()).toEqual({ id: expect.stringMatching(/^<.+@example\.com>$/) });
    expect(mails).toMatchObject([{ from: "shop@example.com", to: ["ada@example.com", "charles@example.com"] }]);
    expect(mails[0]!.text).toContain("Your order has been sent.");
    expect(mails[0]!.text).toContain("From: Shop <shop@example.com>");
    expect(await (await app.request("/metrics")).text()).toContain('framework_mails_total{result="sent"} 1');
  });

  it("A line break in a subject adds no header", async () => {
    const { mails, port } = await startServer();
    const app = makeApp(port);
    await app.start();
    await app.mail.send({ to: "ada@example.com", subject: "Hello\r\nBcc: eve@example.com", text: "x" });
    expect(mails[0]!.to).toEqual(["ada@example.com"]);
    expect(mails[0]!.text).not.toMatch(/^Bcc:/m);
  });

  it("A recipient that the server refuses is an error that names it", async () => {
    const { port } = await startServer();
    const app = makeApp(port);
    await app.start();
    const sending = app.mail.send({ to: ["ada@example.com", "nobody@example.com"], subject: "x", text: "x" });
    await expect(sending).rejects.toThrow("the mail server has refused nobody@example.com");
  });

  it("The end of the application waits for mails under way", async () => {
    let confirm = () => {};
    const wait = new Promise<void>((resolve) => (confirm = resolve));
    const { mails, port } = await startServer({ wait });
    const app = makeApp(port);
    await app.start();
    const sending = app.mail.send({ to: "ada@example.com", subject: "x", text: "x" });
    await expect.poll(() => mails.length).toBe(1);
    const stopping = app.stop();
    confirm();
    await stopping;
    await expect(sending).resolves.toMatch(/^</);
  });
});

describe("a mail server that is away", () => {
  it("The application starts without its mail server, DEGRADED, and sends mail when it has come", async () => {
    const { port, stop } = await startServer();
    await stop();
    const app = makeApp(port);
    app.enableHealthChecks();
    await app.start();
    expect(await readiness(app)).toBe("DEGRADED");
    expect(() => app.mail).toThrow("app.mail is not connected");
    const { mails } = await startServer({ port });
    await expect.poll(() => readiness(app), { timeout: 60_000 }).toBe("UP");
    await app.mail.send({ to: "ada@example.com", subject: "x", text: "x" });
    expect(mails).toHaveLength(1);
  }, 90_000);
});

describe("installing mail", () => {
  it("Wrong options, a second installation and a name that is taken are refused", () => {
    expect(() => new App().install(mail)).toThrow("option 'from' is required in MailConfig");
    expect(() => new App().install(mail, { from, hosts: "x" } as never)).toThrow("did you mean 'host'?");
    expect(() => new App().install(mail, from).install(mail, from)).toThrow("the feature mail is installed already");
    const other = feature<{ mail(): string }>({ name: "post", methods: { mail: () => "" } });
    expect(() => new App().install(mail, from).install(other)).toThrow(
      "the feature post cannot add app.mail: the name is taken",
    );
  });

  it("The options are taken by position too, and the password is not shown", () => {
    expect(new MailConfig(from, "mail.example.com", 465)).toMatchObject({ host: "mail.example.com", port: 465 });
    expect(JSON.stringify(new MailConfig({ from, user: "u", password: "secret" }))).not.toContain("secret");
  });
});
