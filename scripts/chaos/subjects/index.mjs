import kafka from "./kafka.mjs";
import memory from "./memory.mjs";
import rabbitmq from "./rabbitmq.mjs";

/** The subjects of the rig. To add one, add a file here and list it. */
export const subjects = [memory, kafka, rabbitmq];
