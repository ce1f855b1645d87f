import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Connection } from "../../../src/engines/db/connection.js";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { Job } from "../../../src/engines/db/job.js";
import { internalStatement } from "../../../src/engines/db/statements.js";
import { WaitingLine } from "../../../src/engines/db/waiting-line.js";

const job = (): Job => {
  const made = new Job(internalStatement("select 1"), [], "execute", false);
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

  it("The waiting line gives any number of jobs in the order in which they came", () => {
    const jobs = Array.from({ length: 3000 }, job);
    for (const each of jobs) line.addJob(each);
    expect(line.length).toBe(3000);
    const left = jobs.map(() => line.shiftJob());
    expect(left).toEqual(jobs);
    expect(line.shiftJob()).toBeUndefined();
    expect(line.empty).toBe(true);
  });

  it("The waiting line rejects each job when its own time is over", async () => {
    const [early, late] = [job(), job()];
    line.addJob(early);
    await vi.advanceTimersByTimeAsync(60);
    line.addJob(late);
    await vi.advanceTimersByTimeAsync(50);
    expect([early.settled, late.settled]).toEqual([true, false]);
    await expect(early.promise).rejects.toThrow("too long");
    await vi.advanceTimersByTimeAsync(60);
    await expect(late.promise).rejects.toThrow("too long");
    expect(line.empty).toBe(true);
  });

  it("A job that was removed is not rejected when its time is over", async () => {
    const [first, second] = [job(), job()];
    line.addJob(first);
    line.addJob(second);
    expect(line.shiftJob()).toBe(first);
    second.abandon(new OperationalError("cancelled"));
    expect(line.empty).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(first.settled).toBe(false);
    await expect(second.promise).rejects.toThrow("cancelled");
  });

  it("An empty waiting line keeps no timer", () => {
    line.addJob(job());
    expect(vi.getTimerCount()).toBe(1);
    line.addJob(job());
    expect(vi.getTimerCount()).toBe(1);
    line.shiftJob();
    line.shiftJob();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("The waiting line knows if a job or a caller has waited longest", async () => {
    line.addJob(job());
    await vi.advanceTimersByTimeAsync(1);
    const connection = {} as Connection;
    const given = line.addCaller();
    expect(line.nextIsCaller).toBe(false);
    line.shiftJob();
    expect(line.nextIsCaller).toBe(true);
    line.shiftCaller()!(connection);
    expect(await given).toBe(connection);
  });

  it("The waiting line rejects all jobs and callers at once", async () => {
    const waiting = [job(), job()];
    for (const each of waiting) line.addJob(each);
    const caller = line.addCaller();
    line.refuseAll(new OperationalError("closed"));
    for (const { promise } of waiting) await expect(promise).rejects.toThrow("closed");
    await expect(caller).rejects.toThrow("closed");
    expect(line.empty).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
});
