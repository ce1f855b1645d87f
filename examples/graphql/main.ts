import { graphqlApp } from "./app.js";

await graphqlApp().run();
