import { App, Response } from "stoa";

/**
 * Chat rooms over WebSockets, with a page to try them in the browser, and the same as server-sent events for those who only
 * read. It works with any number of workers: `node main.js --workers 4`.
 */
export function chatApp(): App {
  const app = new App();
  app.enableRooms({ history: 50 });

  app.get("/", () => Response.html(page));

  app.websocket("/rooms/{room}/{name}", { maxMessageSize: 4096 }, async (socket) => {
    const { room, name } = socket.params;
    const tell = (text: string): Promise<string> => app.rooms(room).send({ text });
    await socket.join(room, { info: { name }, after: "0" });
    await tell(`${name} has come`);
    for await (const message of socket) {
      if (message.text) await tell(`${name}: ${message.text}`);
    }
    await tell(`${name} has left`);
  });

  app.get("/rooms/{room}/events", (request) => request.rooms.stream(request.params.room, { after: "0" }));

  app.get("/rooms/{room}/members", async (request) => {
    const { count, members } = await request.rooms(request.params.room).members();
    return { count, members: members.map(({ info }) => info) };
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
  const room = location.hash.slice(1) || "lobby";
  const socket = new WebSocket(location.origin.replace("http", "ws") + "/rooms/" + room + "/" + name);
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
