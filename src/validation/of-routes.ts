/** The parts that routes with schemas need. They are loaded only if there is such a route. */
export { respondingTo } from "./response.js";
export { validationStep } from "./validate.js";
