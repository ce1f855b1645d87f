import { MemoryBroker, MemoryHub, type MessagingError } from "stoa/messaging";
import { describe, expect, it } from "vitest";
import { contract, groupsContract } from "./contract.js";
import { clients, gate, silent, uniqueTopic, until } from "./harness.js";

const hub = new MemoryHub();
const backend = { connect: () => new MemoryBroker({ hub }) };

contract("the memory broker", backend);
groupsContract("the memory broker", backend);
