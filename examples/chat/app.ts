import { App, Response, type WebSocket } from "stoa";

/** A chat room over WebSockets, with a page to try it in the browser. */
export function chatApp(): App {
  const app = new App();
  const present = new Map<WebSocket<object>, string>();
  const tell = (text: string): void => {
    for (const socket of present.keys()) void socket.sendJson({ text });
  };

  app.get("/", () => Response.html(page));

  app.websocket("/room/{name}", { maxMessageSize: 4096 }, async (socket) => {
    const { name } = socket.params;
    present.set(socket, name);
    tell(`${name} has come`);
    for await (const message of socket) {
      if (message.text) tell(`${name}: ${message.text}`);
    }
    present.delete(socket);
    tell(`${name} has left`);
  });
  return app;
}

const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Chat</title>
<style>body { font: 16px system-ui; max-width: 40rem; margin: 3rem auto } input { width: 100%; font: inherit }</style>
<h1>Chat</h1>
<ol id="said"></ol>
<form><input id="text" placeholder="Say something" autofocus></form>
<script>
  const name = "guest" + Math.floor(Math.random() * 1000);
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/room/" + name);
  socket.onmessage = (event) => {
    const item = document.createElement("li");
    item.textContent = JSON.parse(event.data).text;
    document.getElementById("said").append(item);
  };
  document.forms[0].onsubmit = (event) => {
    event.preventDefault();
    socket.send(text.value);
    text.value = "";
  };
</script>
</html>`;
