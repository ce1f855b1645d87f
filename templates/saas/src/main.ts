import createApp from "./app.js";

await createApp().run();
