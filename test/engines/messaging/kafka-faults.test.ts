import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createKafkaBroker, type MessagingError } from "stoa/messaging";
import { testBrokerFaults } from "stoa/testing/broker";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startKafka } from "../../../scripts/services/kafka.mjs";
import { freePort } from "../../../scripts/services/ports.mjs";
import { service } from "../../support/service.js";
import { connected, uniqueTopic, until } from "./harness.js";
import { startTunnel, type Tunnel } from "./tunnel.js";

const run = promisify(execFile);
const user = "alice";
const password = "alice-secret";

/** A broker of its own: it must send its clients through the tunnel, and has listeners with a login and with TLS. */
describe.skipIf(!service("kafka"))("A Kafka broker of its own", () => {
  let folder: string;
  let tunnel: Tunnel;
  let kafka: { stop(): Promise<void> };
  let ca: string;
  const ports = { sasl: 0, tls: 0, both: 0 };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-kafka-faults-"));
    const port = await freePort();
    tunnel = await startTunnel(port);
    for (const name of ["sasl", "tls", "both"] as const) ports[name] = await freePort();
    const secure = { ...ports, ...(await certificates(folder)), user, password };
    ca = await readFile(secure.ca, "utf8");
    kafka = await startKafka(folder, port, { advertised: tunnel.port, secure });
  }, 180_000);

  afterAll(async () => {
    await tunnel?.close();
    await kafka?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const behindTunnel = {
    name: "Kafka",
    connect: () => createKafkaBroker({ brokers: [`127.0.0.1:${tunnel.port}`], sessionTimeout: 6, connectTimeout: 1 }),
    stop: () => tunnel.cut(),
    start: () => tunnel.mend(),
  };
  testBrokerFaults(behindTunnel, { describe, it });

  it.each([
    { title: "SASL PLAIN", listener: "sasl", mechanism: "PLAIN", tls: false },
    { title: "SASL SCRAM-SHA-256", listener: "sasl", mechanism: "SCRAM-SHA-256", tls: false },
    { title: "SASL SCRAM-SHA-512", listener: "sasl", mechanism: "SCRAM-SHA-512", tls: false },
    { title: "TLS", listener: "tls", mechanism: null, tls: true },
    { title: "SASL SCRAM-SHA-512 over TLS", listener: "both", mechanism: "SCRAM-SHA-512", tls: true },
  ] as const)("A message is published and handled with $title", async ({ listener, mechanism, tls }) => {
    const client = await connected({
      connect: () =>
        createKafkaBroker({
          brokers: [`127.0.0.1:${ports[listener]}`],
          ...(mechanism && { sasl: { mechanism, username: user, password } }),
          ...(tls && { tls: { ca } }),
        }),
    });
    const name = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await client.publish(name, "through");
    await until(() => seen.length === 1);
    await client.transaction((tx) => tx.publish(name, "together"));
    await until(() => seen.length === 2);
    await client.close();
  });

  it("A message is published and handled with a token of OAUTHBEARER, and a token that is over is refused", async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const now = Math.floor(Date.now() / 1000);
    // Not signed: the broker of the test takes that.
    const tokenUntil = (exp: number) => `${part({ alg: "none" })}.${part({ sub: user, iat: now - 1000, exp })}.`;
    let asked = 0;
    const token = async () => {
      asked++;
      return tokenUntil(now + 3600);
    };
    const brokers = [`127.0.0.1:${ports.sasl}`];
    const client = await connected({
      connect: () => createKafkaBroker({ brokers, sasl: { mechanism: "OAUTHBEARER", token } }),
    });
    const name = uniqueTopic();
    const seen: unknown[] = [];
    await client.subscribe(name, {}, ({ value }) => void seen.push(value));
    await client.publish(name, "through");
    await until(() => seen.length === 1);
    expect(asked).toBeGreaterThan(1);
    await client.close();
    const over = tokenUntil(now - 500);
    const broker = await createKafkaBroker({
      brokers,
      connectTimeout: 1,
      sasl: { mechanism: "OAUTHBEARER", token: over },
    });
    const failure = (await broker.open().catch((error: unknown) => error)) as MessagingError;
    await broker.close();
    expect(failure).toMatchObject({ code: "REFUSED", message: expect.stringContaining("invalid_token") });
    expect(`${failure.message} ${JSON.stringify(failure)}`).not.toContain(over);
  });

  it("A wrong password, a missing login and an unknown authority are clear errors in bounded time, without the password", async () => {
    const attempt = async (options: object): Promise<MessagingError> => {
      const broker = await createKafkaBroker({ connectTimeout: 1, ...options });
      const failure = await broker.open().catch((error: MessagingError) => error);
      await broker.close();
      return failure as MessagingError;
    };
    const login = { mechanism: "SCRAM-SHA-512", username: user, password: "wrong-secret" };
    const wrong = await attempt({ brokers: [`127.0.0.1:${ports.sasl}`], sasl: login });
    expect(wrong).toMatchObject({ code: "REFUSED", message: expect.stringContaining("uthentication") });
    expect(`${wrong.message} ${JSON.stringify(wrong)}`).not.toContain("wrong-secret");
    const none = await attempt({ brokers: [`127.0.0.1:${ports.sasl}`] });
    expect(none.code).toMatch(/^(UNREACHABLE|REFUSED)$/);
    const unknown = await attempt({ brokers: [`127.0.0.1:${ports.tls}`], tls: true });
    expect(unknown.message).toMatch(/certificate|self.signed/);
  });
});

/** An authority and a certificate for this machine, as Kafka wants them: key and certificate in one file. */
async function certificates(folder: string): Promise<{ keystore: string; ca: string }> {
  const file = (name: string): string => join(folder, name);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const out = (name: string) => ["-keyout", file(`${name}.key`), "-out", file(`${name}.pem`)];
  await run("openssl", ["req", "-x509", ...fresh, ...out("ca"), "-days", "30", "-subj", "/CN=Test CA"]);
  await run("openssl", ["req", ...fresh, ...out("request"), "-subj", "/CN=localhost"]);
  await writeFile(file("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  const signing = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-CAcreateserial", "-days", "30"];
  const names = ["-extfile", file("names"), "-out", file("server.pem")];
  await run("openssl", ["x509", "-req", "-in", file("request.pem"), ...signing, ...names]);
  const parts = await Promise.all(["request.key", "server.pem", "ca.pem"].map((name) => readFile(file(name), "utf8")));
  await writeFile(file("keystore.pem"), parts.join(""));
  return { keystore: file("keystore.pem"), ca: file("ca.pem") };
}
