import { tourApp } from "./app.js";

await tourApp().run();
