import { sessionsApp } from "./app.js";

const { url } = await sessionsApp().run();

if (process.stdout.isTTY) console.log(`Open ${url}/ in a browser.`);
