import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Executor, type Job, type SlotChannel } from "./executor.ts";
import { TaskContext } from "./tasks/task-context.ts";

const SHAPE = "CPU:10000";

interface Fixture {
  executor: Executor;
  log: string[];
  slots: string[];
  /** The tasks that were named as running beside others. */
  beside: (string | undefined)[];
  task(name: string, body: (context: TaskContext) => void, shape?: string): Job;
}

function fixture(runOwn: SlotChannel["runOwn"] = () => false, hasQueued: SlotChannel["hasQueued"] = () => false): Fixture {
  const log: string[] = [];
  const slots: string[] = [];
  const beside: (string | undefined)[] = [];
  const executor = new Executor({
    park: () => slots.push("park"),
    unpark: (shape) => slots.push(`unpark ${shape}`),
    runOwn,
    hasQueued,
    runsBeside: (context) => beside.push(context?.name),
    useAccelerators: (ids) => slots.push(`use ${ids?.["GPU"]?.join(",") ?? "none"}`),
  });
  const place = {
    actor: undefined,
    actorName: undefined,
    incarnation: 0,
    shape: "",
    resources: {},
    accelerators: undefined,
    isSerial: false,
    executor,
  };
  return {
    executor,
    log,
    slots,
    beside,
    task: (name, body, shape = SHAPE) => {
      const context = new TaskContext({ name, taskIdPrefix: "", callId: 1, place });
      return {
        context,
        shape,
        run: () => {
          log.push(`${name} begins`);
          body(context);
        },
        decline: () => log.push(`${name} goes back`),
      };
    },
  };
}

test("what is queued goes back in its order when nothing more may begin, and what runs goes on", () => {
  const { executor, log, task } = fixture();
  const running = task("running", () => {});
  for (const job of [running, task("second", () => {}), task("third", () => {})]) executor.enqueue(job);
  executor.declineQueued();
  expect(log).toEqual(["running begins", "second goes back", "third goes back"]);
  executor.finished(running.context);
  expect(executor.isIdle).toBe(true);
});

/** The daemon leases the worker while its tasks are parked. */
function share(executor: Executor, shape = SHAPE): void {
  executor.slotGranted({ shape, isAnswer: false, isLeased: true });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 2000;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("it did not happen within 2 s");
    await turn();
  }
}

describe("the executor", () => {
  test("runs one task at a time, in order", async () => {
    const { executor, log, task } = fixture();
    const first = task("first", () => {});
    executor.enqueue(first);
    executor.enqueue(task("second", (context) => executor.finished(context)));
    await turn();
    expect(log).toEqual(["first begins"]);
    executor.finished(first.context);
    await turn();
    expect(log).toEqual(["first begins", "second begins"]);
  });

  test("passes over a task that was given up while it was queued, and goes on", async () => {
    const { executor, log, task } = fixture();
    const first = task("first", () => {});
    const given = task("given up", () => {});
    executor.enqueue(first);
    executor.enqueue(given);
    executor.enqueue(task("last", (context) => executor.finished(context)));
    executor.finished(given.context);
    executor.finished(first.context);
    await turn();
    // It is run to let go of its arguments, and nobody says again that it has ended.
    expect(log).toEqual(["first begins", "given up begins", "last begins"]);
    expect(executor.isIdle).toBe(true);
  });

  test("sends back what is queued behind a task that waits, and what comes later, until that task has ended", async () => {
    const { executor, log, slots, task } = fixture(() => true);
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    executor.enqueue(task("behind", () => {}));
    await until(() => slots.length === 1);
    expect([log, slots]).toEqual([["first begins", "behind goes back"], ["park"]]);
    executor.enqueue(task("late", () => {}));
    expect(executor.canRunNow(SHAPE)).toBe(false);
    await until(() => log.length === 3);
    executor.waitEnds(first.context, () => log.push("first goes on"));
    await until(() => slots.length === 2);
    executor.slotGranted({ shape: SHAPE, isAnswer: true, isLeased: true });
    executor.enqueue(task("beside", () => {}));
    await until(() => log.includes("beside goes back"));
    executor.finished(first.context);
    executor.enqueue(task("next", () => {}));
    expect(log).toEqual(["first begins", "behind goes back", "late goes back", "first goes on", "beside goes back", "next begins"]);
  });

  test("gives the slot back at once when a reserved worker's calls wait for a lease", async () => {
    const { executor, slots, task } = fixture(
      () => true,
      () => true,
    );
    executor.enqueue(task("parent", (context) => executor.waitBegins(context)));
    await turn();
    expect(slots).toEqual(["park"]);
  });

  test("keeps what is queued behind a short wait", async () => {
    const { executor, log, task } = fixture();
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    executor.enqueue(task("second", () => {}));
    await turn();
    executor.waitEnds(first.context, () => executor.finished(first.context));
    await until(() => log.length === 2);
    expect(log).toEqual(["first begins", "second begins"]);
  });

  test("is reserved again when processes may be had, one parked task is left and the slot goes back", async () => {
    const { executor, log, slots, task } = fixture();
    executor.enqueue(task("first", (context) => executor.waitBegins(context)));
    await until(() => slots.length === 1);
    share(executor);
    executor.keepApart();
    const second = task("second", () => {});
    executor.enqueue(second);
    executor.finished(second.context);
    await until(() => slots.length === 2);
    executor.enqueue(task("third", () => {}));
    await until(() => log.includes("third goes back"));
    expect(log).toEqual(["first begins", "second begins", "third goes back"]);
  });

  test("names the task that runs while others wait in the process, and none where nothing waits", async () => {
    const { executor, slots, beside, task } = fixture();
    executor.enqueue(task("alone", (context) => executor.finished(context)));
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    await until(() => slots.length === 1);
    expect(beside).toEqual([]);
    share(executor);
    const second = task("second", () => {});
    executor.enqueue(second);
    expect(beside).toEqual(["second"]);
    executor.waitEnds(first.context, () => {});
    executor.finished(second.context);
    await turn();
    expect(beside).toEqual(["second", undefined]);
  });

  test("stays shared for the tasks that wait next, until processes may be had", async () => {
    const { executor, log, slots, task } = fixture();
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    await until(() => slots.length === 1);
    share(executor);
    executor.finished(first.context);
    const second = task("second", (context) => executor.waitBegins(context));
    executor.enqueue(second);
    executor.enqueue(task("third", (context) => executor.finished(context)));
    await until(() => log.includes("third begins") && slots.length === 2);
    executor.keepApart();
    executor.finished(second.context);
    executor.enqueue(task("fourth", (context) => executor.waitBegins(context)));
    executor.slotGranted({ shape: SHAPE, isAnswer: true, isLeased: true });
    executor.enqueue(task("fifth", () => {}));
    await until(() => log.includes("fifth goes back"));
    expect(log).toEqual(["first begins", "second begins", "third begins", "fourth begins", "fifth goes back"]);
  });

  test("when shared, starts the next task while one waits, and goes on with it before anything new", async () => {
    const { executor, log, task } = fixture();
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    await turn();
    share(executor);
    const second = task("second", () => {});
    executor.enqueue(second);
    await until(() => log.length === 2);
    executor.enqueue(task("third", () => {}));
    executor.waitEnds(first.context, () => log.push("first goes on"));
    await turn();
    expect(log).toEqual(["first begins", "second begins"]);
    executor.finished(second.context);
    await until(() => log.includes("first goes on"));
    expect(log).toEqual(["first begins", "second begins", "first goes on"]);
    executor.finished(first.context);
    await until(() => log.includes("third begins"));
  });

  test("gives the slot back when everything waits, and asks for it before it goes on", async () => {
    const { executor, log, slots, task } = fixture();
    const only = task("only", (context) => executor.waitBegins(context));
    executor.enqueue(only);
    await until(() => slots.length === 1);
    expect(slots).toEqual(["park"]);
    executor.waitEnds(only.context, () => log.push("goes on"));
    await until(() => slots.length === 2);
    expect(slots).toEqual(["park", `unpark ${SHAPE}`]);
    expect(log).toEqual(["only begins"]);
    executor.slotGranted({ shape: SHAPE, isAnswer: true, isLeased: true });
    expect(log).toEqual(["only begins", "goes on"]);
  });

  test("a lease that crosses with the question for the slot does not answer it", async () => {
    const { executor, log, slots, task } = fixture();
    const first = task("first", (context) => executor.waitBegins(context));
    executor.enqueue(first);
    await until(() => slots.length === 1);
    executor.waitEnds(first.context, () => log.push("first goes on"));
    await until(() => slots.length === 2);
    // The daemon leased the parked worker under another shape before it had the question, which takes that back.
    executor.slotGranted({ shape: "CPU:20000", isAnswer: false, isLeased: true });
    expect(log).toEqual(["first begins"]);
    executor.slotGranted({ shape: SHAPE, isAnswer: true, isLeased: false });
    expect(log).toEqual(["first begins", "first goes on"]);
    executor.enqueue({ ...task("second", () => {}), shape: "CPU:20000" });
    executor.finished(first.context);
    await until(() => slots.length === 3);
    expect(slots[2]).toBe("unpark CPU:20000");
    expect(log).toEqual(["first begins", "first goes on"]);
  });

  test("a slot without CPUs is not one for every shape", async () => {
    const { executor, log, slots, task } = fixture();
    executor.enqueue({ ...task("free", (context) => executor.finished(context)), shape: "" });
    executor.enqueue(task("paid", () => {}));
    await until(() => slots.length === 1);
    expect([slots, log]).toEqual([[`unpark ${SHAPE}`], ["free begins"]]);
  });

  test("after its last lease it tells what is left, as soon as nothing runs, and begins no task of its own", async () => {
    const { executor, slots, task } = fixture(() => true);
    const own = task("own", () => {});
    executor.enqueue(own);
    executor.leaseEnded({ isLast: true });
    await turn();
    expect(slots).toEqual([]);
    executor.finished(own.context);
    await until(() => slots.length === 1);
    expect(slots).toEqual(["park"]);
  });

  test("when shared, runs a nested task of its own instead of giving the slot back", async () => {
    let own = 0;
    const { executor, slots, task } = fixture(() => {
      own += 1;
      return true;
    });
    executor.enqueue(task("parent", (context) => executor.waitBegins(context)));
    await turn();
    share(executor);
    await until(() => own > 0);
    await turn();
    expect(slots).toEqual([]);
  });

  test("a task that waits for several refs is parked again after the first has settled", async () => {
    const { executor, log, task } = fixture();
    const parent = task("parent", (context) => {
      executor.waitBegins(context);
      executor.waitBegins(context);
    });
    executor.enqueue(parent);
    await turn();
    executor.waitEnds(parent.context, () => log.push("first settled"));
    await until(() => log.includes("first settled"));
    await turn();
    share(executor);
    executor.enqueue(task("other", (context) => executor.finished(context)));
    await until(() => log.includes("other begins"));
    executor.waitEnds(parent.context, () => log.push("second settled"));
    await until(() => log.includes("second settled"));
  });

  test("a task that awaits no ref for long is overtaken by a parked one that may go on, and counts as running afterwards", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { executor, log, slots, task } = fixture();
    const parent = task("parent", () => {});
    executor.enqueue(parent);
    executor.waitBegins(parent.context);
    await turn();
    share(executor);
    // It ends when the test says so, and waits for no ref meanwhile.
    const endless = task("endless", () => {});
    executor.enqueue(endless);
    await turn();
    executor.waitEnds(parent.context, () => log.push("parent goes on"));
    await turn();
    expect(log).toEqual(["parent begins", "endless begins"]);
    vi.advanceTimersByTime(100);
    await until(() => log.length === 3);
    expect(log[2]).toBe("parent goes on");
    executor.finished(parent.context);
    await turn();
    // The worker is not idle: nothing is given back, and nothing new begins.
    executor.enqueue(task("next", (context) => executor.finished(context)));
    await turn();
    expect([slots.includes("park"), log.includes("next begins"), executor.isIdle]).toEqual([false, false, false]);
    executor.finished(endless.context);
    await until(() => log.includes("next begins"));
  });

  test("an overtaken task that waits for no ref keeps the slot from tasks of other shapes", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { executor, log, slots, task } = fixture();
    const parent = task("parent", () => {}, "");
    executor.enqueue(parent);
    executor.waitBegins(parent.context);
    await turn();
    share(executor, "");
    const child = task("child", () => {});
    executor.enqueue(child);
    executor.slotGranted({ shape: SHAPE, isAnswer: true, isLeased: true });
    executor.waitBegins(child.context);
    await turn();
    const timer = task("timer", () => {});
    executor.enqueue(timer);
    await turn();
    executor.waitEnds(child.context, () => log.push("child goes on"));
    await turn();
    vi.advanceTimersByTime(100);
    await until(() => log.includes("child goes on"));
    executor.waitEnds(parent.context, () => log.push("parent goes on"));
    executor.finished(child.context);
    await turn();
    vi.advanceTimersByTime(1000);
    await turn();
    expect(slots).toEqual([`unpark ${SHAPE}`]);
    executor.finished(timer.context);
    await until(() => slots.length === 2);
    expect(slots[1]).toBe("unpark ");
    executor.slotGranted({ shape: "", isAnswer: true, isLeased: true });
    expect(log.at(-1)).toBe("parent goes on");
  });

  test("an overtaken task that waits for a ref is parked like any other", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { executor, log, task } = fixture();
    const parent = task("parent", () => {});
    executor.enqueue(parent);
    executor.waitBegins(parent.context);
    await turn();
    share(executor);
    const overtaken = task("overtaken", () => {});
    executor.enqueue(overtaken);
    await turn();
    executor.waitEnds(parent.context, () => log.push("parent goes on"));
    await turn();
    vi.advanceTimersByTime(100);
    await until(() => log.includes("parent goes on"));
    executor.waitBegins(overtaken.context);
    executor.waitEnds(overtaken.context, () => log.push("overtaken goes on"));
    await turn();
    expect(log).not.toContain("overtaken goes on");
    executor.finished(parent.context);
    await until(() => log.includes("overtaken goes on"));
    executor.finished(overtaken.context);
    await turn();
    expect(executor.isIdle).toBe(true);
  });

  test("lets others run while a task that nobody waits for goes on", async () => {
    const { executor, log, slots, task } = fixture();
    const cancelled = task("cancelled", () => {});
    const other = task("other", () => {});
    executor.enqueue(cancelled);
    executor.enqueue(other);
    await turn();
    expect(executor.othersHaveBegun(cancelled.context)).toBe(false);
    executor.letGo(other.context);
    executor.letGo(cancelled.context);
    await turn();
    expect(log).toEqual(["cancelled begins", "other begins"]);
    expect(executor.othersHaveBegun(cancelled.context)).toBe(true);
    expect(executor.othersHaveBegun(other.context)).toBe(true);
    executor.finished(cancelled.context);
    expect(executor.othersHaveBegun(other.context)).toBe(false);
    executor.finished(other.context);
    await turn();
    expect(slots).toEqual([]);
    expect(executor.isIdle).toBe(true);
  });
});
