/** What a route with schemas needs; loaded where there is one. */
export { respondingTo } from "./response.js";
export { validationStep } from "./validate.js";
