import { connect as connectTo } from "node:net";
import { onTestFinished } from "vitest";
import { connect, type TestSocket } from "../../../src/testing/test-socket.js";

/** A WebSocket to a server, over a connection of its own. It is closed when the test has finished. */
export async function openSocket(url: string): Promise<TestSocket> {
  const { hostname, port } = new URL(url);
  const connection = connectTo(Number(port), hostname);
  const socket = await connect(connection, url.replace("http", "ws"), [], {});
  onTestFinished(() => void connection.destroy());
  return socket;
}
