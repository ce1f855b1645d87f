import { createServer } from "node:net";

const text = "text/plain; charset=utf-8";
const json = "application/json; charset=utf-8";

/**
 * Not a server but an upper limit: node:net takes every chunk for one whole request, checks nothing and sends an ASCII
 * response in one write. A server in JavaScript on Node's sockets cannot be much faster.
 */
export function serve(workload, port) {
  const answer = answers[workload.kind](workload);
  function onData(piece) {
    const [type, body] = answer(piece.toString("latin1"));
    const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nDate: ${date}\r\nContent-Length: ${body.length}\r\n\r\n`;
    this.write(head + body, "latin1");
  }
  const server = createServer({ noDelay: true }, (socket) => socket.on("data", onData).on("error", () => {}));
  return server.listen(port, "127.0.0.1");
}

const date = new Date().toUTCString();

const answers = {
  text:
    ({ value }) =>
    () => [text, value],
  json:
    ({ value }) =>
    () => [json, JSON.stringify(value)],
  params: () => (request) => {
    const target = request.slice(4, request.indexOf(" ", 4));
    const mark = target.indexOf("?");
    const [, , user, , post] = target.slice(0, mark).split("/");
    return [json, JSON.stringify({ user, post, q: target.slice(mark + "?q=".length) })];
  },
  echo: () => (request) => [json, JSON.stringify(JSON.parse(request.slice(request.indexOf("\r\n\r\n") + 4)))],
};
