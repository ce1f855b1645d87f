import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "../../../src/engines/db/connection.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { Execution } from "../../../src/engines/db/pool/execution.js";
import { WaitingLine } from "../../../src/engines/db/pool/waiting-line.js";
import { internalStatement } from "../../../src/engines/db/statements.js";

const execution = (): Execution => {
  const made = new Execution(internalStatement("select 1"), [], "execute", false);
  made.promise.catch(() => {});
  return made;
};

describe("WaitingLine", () => {
  let line: WaitingLine;

  beforeEach(() => {
    vi.useFakeTimers();
    line = new WaitingLine(100, () => new OperationalError("too long"));
  });
  afterEach(() => vi.useRealTimers());

  it("The waiting line gives any number of executions in the order in which they came", () => {
    const executions = Array.from({ length: 3000 }, execution);
    for (const each of executions) line.addExecution(each);
    expect(line.length).toBe(3000);
    const left = executions.map(() => line.shiftExecution());
    expect(left).toEqual(executions);
    expect(line.shiftExecution()).toBeUndefined();
    expect(line.empty).toBe(true);
  });

  it("The waiting line rejects each execution when its own time is over", async () => {
    const [early, late] = [execution(), execution()];
    line.addExecution(early);
    await vi.advanceTimersByTimeAsync(60);
    line.addExecution(late);
    await vi.advanceTimersByTimeAsync(50);
    expect([early.settled, late.settled]).toEqual([true, false]);
    await expect(early.promise).rejects.toThrow("too long");
    await vi.advanceTimersByTimeAsync(60);
    await expect(late.promise).rejects.toThrow("too long");
    expect(line.empty).toBe(true);
  });

  it("An execution that was removed is not rejected when its time is over", async () => {
    const [first, second] = [execution(), execution()];
    line.addExecution(first);
    line.addExecution(second);
    expect(line.shiftExecution()).toBe(first);
    second.abandon(new OperationalError("cancelled"));
    expect(line.empty).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(first.settled).toBe(false);
    await expect(second.promise).rejects.toThrow("cancelled");
  });

  it("An empty waiting line keeps no timer", () => {
    line.addExecution(execution());
    expect(vi.getTimerCount()).toBe(1);
    line.addExecution(execution());
    expect(vi.getTimerCount()).toBe(1);
    line.shiftExecution();
    line.shiftExecution();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("The waiting line knows if an execution or a caller has waited longest", async () => {
    line.addExecution(execution());
    await vi.advanceTimersByTimeAsync(1);
    const connection = {} as Connection;
    const given = line.addCaller();
    expect(line.nextIsCaller).toBe(false);
    line.shiftExecution();
    expect(line.nextIsCaller).toBe(true);
    line.shiftCaller()!(connection);
    expect(await given).toBe(connection);
  });

  it("The waiting line rejects all executions and callers at once", async () => {
    const waiting = [execution(), execution()];
    for (const each of waiting) line.addExecution(each);
    const caller = line.addCaller();
    line.refuseAll(new OperationalError("closed"));
    for (const { promise } of waiting) await expect(promise).rejects.toThrow("closed");
    await expect(caller).rejects.toThrow("closed");
    expect(line.empty).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
