import { MemoryBroker, MemoryHub } from "stoa/messaging";
import { batchContract, requestContract, transactionContract } from "./batch-contract.js";
import { contract, delayContract, faultsContract, groupsContract, logContract } from "./contract.js";

const hub = new MemoryHub();
const backend = { connect: () => new MemoryBroker({ hub }) };

contract("the memory broker", backend);
groupsContract("the memory broker", backend);
logContract("the memory broker", backend);
batchContract("the memory broker", backend);
requestContract("the memory broker", backend);
delayContract("the memory broker", backend);
transactionContract("the memory broker", backend);
faultsContract("the memory broker", {
  ...backend,
  stop: async () => hub.stop(),
  start: async () => hub.start(),
});
