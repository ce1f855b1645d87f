import createApp from "./app.js";

// One worker, because the notes are in its memory. With a database, leave the option out: one worker per CPU.
await createApp().run({ workers: 1 });
