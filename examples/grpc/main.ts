import { grpcApp } from "./app.js";

await grpcApp().run();
