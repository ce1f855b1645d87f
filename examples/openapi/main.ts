import { shopApp } from "./app.js";

await shopApp().run();
