import { describe, expect, test } from "vitest";
import { TaskCancellation } from "./task-cancellation.ts";

const reason = new Error("cancelled");

describe("the cancellation of a task", () => {
  test("aborts the signal with the reason, whether it was asked for before or after", () => {
    const cancellation = new TaskCancellation();
    const { signal } = cancellation;
    expect(signal.aborted).toBe(false);
    cancellation.cancel(reason);
    cancellation.cancel(new Error("again"));
    expect(signal.reason).toBe(reason);
    const late = new TaskCancellation();
    late.cancel(reason);
    expect(late.signal.reason).toBe(reason);
  });

  test("breaks off every wait that is under way, and none that has ended or comes later", () => {
    const cancellation = new TaskCancellation();
    const broken: string[] = [];
    const wait = (name: string) => () => broken.push(name);
    const ended = wait("ended");
    cancellation.waitBegins(ended);
    cancellation.waitEnds(ended);
    cancellation.waitBegins(wait("first"));
    cancellation.waitBegins(wait("second"));
    cancellation.cancel(reason);
    cancellation.waitBegins(wait("cleaning up"));
    expect(broken).toEqual(["first", "second"]);
  });

  test("breaks off the next wait, once, where none was under way", () => {
    const cancellation = new TaskCancellation();
    const broken: Error[] = [];
    cancellation.cancel(reason);
    cancellation.waitBegins((why) => broken.push(why));
    cancellation.waitBegins((why) => broken.push(why));
    expect(broken).toEqual([reason]);
  });
});
