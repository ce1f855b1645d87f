import events from "./events.mjs";
import jobs from "./jobs.mjs";
import kafka from "./kafka.mjs";
import memory from "./memory.mjs";
import outbox from "./outbox.mjs";
import { delays, rabbitmq } from "./rabbitmq.mjs";
import sagas from "./sagas.mjs";

/** The subjects of the rig. To add one, add a file here and list it. */
export const subjects = [memory, kafka, rabbitmq, delays, outbox, events, sagas, jobs];
