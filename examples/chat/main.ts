import { chatApp } from "./app.js";

await chatApp().run();
