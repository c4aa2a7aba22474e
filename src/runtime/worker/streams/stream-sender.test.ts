import { describe, expect, test } from "vitest";
import type { StreamHeader } from "../../wire/messages.ts";
import { StreamSender } from "./stream-sender.ts";
import { type CallPlace, TaskContext } from "../tasks/task-context.ts";

const NO_LIMITS: StreamHeader = { skip: 0, consumed: 0, itemsAhead: Number.POSITIVE_INFINITY, bytesAhead: Number.POSITIVE_INFINITY };

/** Stands for the executor: tells how often the task began and ended to wait. */
class Waits {
  began = 0;
  ended = 0;

  waitBegins(): void {
    this.began += 1;
  }

  waitEnds(_context: TaskContext, resume: () => void): void {
    this.ended += 1;
    resume();
  }
}

interface Fixture {
  sender: StreamSender;
  context: TaskContext;
  sent: [index: number, value: unknown][];
  waits: Waits;
}

function fixture(header: Partial<StreamHeader> = {}, sizeBytes = 1): Fixture {
  const waits = new Waits();
  const executor = waits as unknown as NonNullable<CallPlace["executor"]>;
  const place: CallPlace = {
    actor: undefined,
    actorName: undefined,
    incarnation: 0,
    shape: "",
    resources: {},
    accelerators: undefined,
    executor,
    isSerial: false,
  };
  const context = new TaskContext({ name: "task", taskIdPrefix: "", callId: 1, place });
  const sent: [number, unknown][] = [];
  const send = (index: number, value: unknown): number => {
    if (value === "unsendable") throw new Error("cannot be sent");
    sent.push([index, value]);
    return sizeBytes;
  };
  return { sender: new StreamSender({ context, header: { ...NO_LIMITS, ...header }, send }), context, sent, waits };
}

/** Lets promises and immediates run. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count += 1) await new Promise(setImmediate);
}

function* upTo(count: number, log: string[] = []): Generator<number> {
  try {
    for (let index = 0; index < count; index += 1) yield index;
  } finally {
    log.push("finally");
  }
}

async function* upToLater(count: number, log: string[] = []): AsyncGenerator<number> {
  try {
    for (let index = 0; index < count; index += 1) {
      await Promise.resolve();
      yield index;
    }
  } finally {
    log.push("finally");
  }
}

describe.each([
  ["a generator", upTo],
  ["an async generator", upToLater],
])("%s", (_kind, generator) => {
  test("is driven to its end", async () => {
    const { sender, sent, waits } = fixture();
    const log: string[] = [];
    await sender.drive(generator(3, log));
    expect(sent.map(([index]) => index)).toEqual([0, 1, 2]);
    expect(log).toEqual(["finally"]);
    expect(waits.began).toBe(0);
  });

  test("waits as a task when it is as far ahead as it may be, and goes on by credit", async () => {
    const { sender, sent, waits } = fixture({ itemsAhead: 2 });
    const driven = sender.drive(generator(5));
    await turns();
    expect(sent).toHaveLength(2);
    expect(waits.began - waits.ended).toBe(1);
    sender.credit(1);
    await turns();
    expect(sent).toHaveLength(3);
    sender.credit(3);
    await turns();
    expect(sent).toHaveLength(5);
    sender.credit(5);
    await driven;
    expect(sent).toHaveLength(5);
    expect(waits.began).toBe(waits.ended);
  });

  test("counts bytes as well, and may always have one item ahead", async () => {
    const { sender, sent } = fixture({ bytesAhead: 250 }, 100);
    void sender.drive(generator(9));
    await turns();
    expect(sent).toHaveLength(3);
    sender.credit(2);
    await turns();
    expect(sent).toHaveLength(5);
    const large = fixture({ bytesAhead: 10 }, 100);
    void large.sender.drive(generator(9));
    await turns();
    expect(large.sent).toHaveLength(1);
    large.sender.credit(1);
    await turns();
    expect(large.sent).toHaveLength(2);
  });

  test("makes again what the caller has, and does not send it", async () => {
    const { sender, sent } = fixture({ skip: 3, consumed: 2, itemsAhead: 2 });
    void sender.drive(generator(9));
    await turns();
    // One of the three that it has is not consumed, so there is room for one.
    expect(sent).toEqual([[3, 3]]);
    sender.credit(4);
    await turns();
    expect(sent.map(([index]) => index)).toEqual([3, 4, 5]);
  });

  test("ends at its yield when nobody reads on", async () => {
    const { sender, sent, context } = fixture({ itemsAhead: 1 });
    const log: string[] = [];
    const driven = sender.drive(generator(9, log));
    await turns();
    sender.stop();
    sender.stop();
    await driven;
    expect(sent).toHaveLength(1);
    expect(log).toEqual(["finally"]);
    // It stood at a yield: there is nothing to abort.
    expect(context.isCancelled).toBe(false);
  });

  test("ends when its call is cancelled while it waits for room", async () => {
    const { sender, context } = fixture({ itemsAhead: 1 });
    const log: string[] = [];
    const driven = sender.drive(generator(9, log));
    await turns();
    context.cancellation.cancel(new Error("cancelled"));
    await driven;
    expect(log).toEqual(["finally"]);
  });

  test("is ended when an item cannot be sent", async () => {
    const { sender, sent } = fixture();
    const log: string[] = [];
    const items = generator === upTo ? unsendable(log) : unsendableLater(log);
    await expect(sender.drive(items)).rejects.toThrow("cannot be sent");
    expect(sent).toEqual([[0, "good"]]);
    expect(log).toEqual(["finally"]);
  });
});

function* unsendable(log: string[]): Generator<string> {
  try {
    yield "good";
    yield "unsendable";
  } finally {
    log.push("finally");
  }
}

async function* unsendableLater(log: string[]): AsyncGenerator<string> {
  yield* unsendable(log);
}

test("a stop between two yields aborts the task's signal", async () => {
  const { sender, context, sent } = fixture();
  const { signal } = context.cancellation;
  const listening = async function* (): AsyncGenerator<number> {
    yield 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield 2;
  };
  const driven = sender.drive(listening());
  await turns();
  expect(signal.aborted).toBe(false);
  sender.stop();
  await driven;
  expect(signal.aborted).toBe(true);
  expect(sent).toEqual([[0, 1]]);
});

test("promises that a synchronous generator yields are awaited; a rejected one ends it", async () => {
  const { sender, sent } = fixture();
  const log: string[] = [];
  const yields = function* (): Generator<Promise<string>> {
    try {
      yield Promise.resolve("value");
      yield Promise.reject(new RangeError("rejected"));
    } finally {
      log.push("finally");
    }
  };
  await expect(sender.drive(yields())).rejects.toThrow("rejected");
  expect(sent).toEqual([[0, "value"]]);
  expect(log).toEqual(["finally"]);
});

test("anything that can be iterated is a stream, and nothing else", async () => {
  const { sender, sent } = fixture();
  await sender.drive(new Set(["a", "b"]));
  expect(sent.map(([, value]) => value)).toEqual(["a", "b"]);
  for (const wrong of [5, null, undefined, "text", {}]) await expect(sender.drive(wrong)).rejects.toThrow(TypeError);
});

test("a generator without a pause lets others run", async () => {
  const { sender } = fixture();
  const others: string[] = [];
  const endless = function* (): Generator<number> {
    for (let index = 0; others.length === 0; index += 1) yield index;
  };
  setImmediate(() => others.push("ran"));
  await sender.drive(endless());
  expect(others).toEqual(["ran"]);
});
