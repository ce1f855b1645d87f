import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { pause } from "../chaos/wait.mjs";
import { startKafka } from "../services/kafka.mjs";
import { freePort } from "../services/ports.mjs";
import { startRabbit } from "../services/rabbitmq.mjs";
import { filled, freeze } from "./hurt.mjs";

/**
 * The brokers. Each machine has its own address for each of them: `ports[machine]` are the ports that its tunnels lead to, and
 * `start(advertised)` gets the ports of these tunnels, which the machine is sent to.
 */
export async function prepareBroker(name, folder, machines, { mount = async () => null, count = 1 } = {}) {
  const own = join(folder, "broker");
  await mkdir(own);
  return name === "amqp" ? rabbit(own, machines) : kafka(own, machines, count, mount);
}

async function rabbit(folder, machines) {
  const port = await freePort();
  let server;
  const alarm = async (setting, low, usual, seconds) => {
    await server.ctl(setting, low);
    await pause(seconds * 1000);
    await server.ctl(setting, usual);
  };
  return {
    ports: Array(machines).fill([port]),
    urlOf: ([tunnel]) => `amqp://guest:guest@127.0.0.1:${tunnel}`,
    ordered: false,
    async start() {
      server = await startRabbit(folder, port);
    },
    async restart(seconds) {
      const { ports } = server;
      await server.kill();
      await server.stop();
      await pause(seconds * 1000);
      server = await startRabbit(folder, port, ports);
    },
    async freeze(seconds) {
      await server.signal("SIGSTOP");
      await pause(seconds * 1000);
      await server.signal("SIGCONT");
    },
    // It takes no messages while less than this is free on the disk, or more than this part of the memory is used.
    hasDisk: true,
    fill: (seconds) => alarm("set_disk_free_limit", "900000GB", "50MB", seconds),
    starve: (seconds) => alarm("set_vm_memory_high_watermark", "0.00001", "0.4", seconds),
    stop: () => server?.stop(),
  };
}

/** One broker, or several that each have a copy of each topic. Faults hurt them in turn. */
async function kafka(folder, machines, count, mount) {
  const nodes = [];
  for (let id = 1; id <= count; id++) {
    const own = join(folder, String(id));
    await mkdir(own);
    const ports = [];
    for (let i = 0; i < machines; i++) ports.push(await freePort());
    const [port, controller, disk] = [await freePort(), await freePort(), await mount(own)];
    nodes.push({ id, own, ports, port, controller, disk, running: null });
  }
  const voters = nodes.map(({ id, controller }) => `${id}@127.0.0.1:${controller}`).join(",");
  const start = async (node, more) => {
    const { id, own, port, controller } = node;
    const cluster = count > 1 ? { cluster: { id, voters }, heap: 256 } : {};
    node.running = await startKafka(own, port, { controller, ...cluster, ...more });
  };
  const restart = async (node, seconds) => {
    await node.running.stop();
    await pause(seconds * 1000);
    await start(node, { restart: true });
  };
  let hurt = 0;
  const next = () => nodes[hurt++ % count];
  return {
    ports: Array.from({ length: machines }, (_, machine) => nodes.map(({ ports }) => ports[machine])),
    urlOf: (tunnels) => tunnels.map((tunnel) => `127.0.0.1:${tunnel}`).join(","),
    ordered: true,
    start: (advertised) =>
      Promise.all(
        nodes.map((node, index) => {
          const shown = advertised.map((ports) => ports[index]);
          return start(node, { settings: settingsOf(node, shown) });
        }),
      ),
    restart: (seconds) => restart(next(), seconds),
    freeze: (seconds) => freeze(next().running.pid, seconds),
    hasDisk: nodes.every(({ disk }) => disk !== null),
    /** A broker ends when it cannot write. */
    async fill(seconds) {
      const node = next();
      await filled(node.disk, seconds);
      await restart(node, 0);
    },
    stop: () => Promise.all(nodes.map(({ running }) => running?.stop())),
  };
}

function settingsOf({ port, ports, controller }, advertised) {
  const list = (chosen) => chosen.map((one, machine) => `M${machine}://127.0.0.1:${one}`);
  const own = `PLAINTEXT://127.0.0.1:${port}`;
  return {
    listeners: [own, ...list(ports), `CONTROLLER://127.0.0.1:${controller}`].join(","),
    "advertised.listeners": [own, ...list(advertised)].join(","),
    "listener.security.protocol.map": [
      "PLAINTEXT:PLAINTEXT",
      "CONTROLLER:PLAINTEXT",
      ...ports.map((_, machine) => `M${machine}:PLAINTEXT`),
    ].join(","),
    // The shortest time that a killed consumer keeps its partitions is that of its client.
    "group.min.session.timeout.ms": 1000,
  };
}
