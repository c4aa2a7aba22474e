/** Actors of Python whose calls run at once: coroutines on a loop, other methods on threads, groups with limits of their own; and coroutines as tasks. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cancel, get, type ObjectRef, python, ready, remote, TaskCancelledError, terminate } from "shoal";
import { describe, expect, test } from "vitest";
import { unless, WITHOUT_PYTHON } from "./python-places.ts";
import { failureOf, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
const FILE = new URL("python/meetings.py", import.meta.url);

interface Meeting {
  come(): number;
  wait_for(box: unknown[]): unknown;
  twice_through(other: object, value: number): number;
  fail(): void;
  step(number: number): void;
  hang(): void;
  ticks(count: number): AsyncGenerator<number>;
  leave(): void;
  entries(): unknown[];
  thread(): boolean;
}
interface Crew {
  meet(): boolean;
  sleep(seconds: number): number;
  values(box: unknown[]): unknown[];
  from_actor(other: object, value: number): number;
  numbers(count: number): Generator<number>;
  fail(): void;
  leave(): void;
}

const PyMeeting = python.actor<Meeting, [size: number]>(FILE, "Meeting", { methods: { ticks: { numReturns: "streaming" } }, numCpus: 0 });
const PyCrew = python.actor<Crew, [size: number]>(FILE, "Crew", { methods: { numbers: { numReturns: "streaming" } }, numCpus: 0 });

class Echo {
  async echo<T>(value: T): Promise<T> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return value;
  }
}

async function itemsOf<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

describe.skipIf(WITHOUT_PYTHON !== undefined)(`concurrent calls in Python${unless(WITHOUT_PYTHON)}`, () => {
  useSession({ numCpus: 1 });
  const later = remote(async (value: unknown) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return value;
  });

  test("coroutines run at once, as many as maxConcurrency says", async () => {
    using meeting = PyMeeting.options({ maxConcurrency: 8 }).remote(8);
    expect(await get(Array.from({ length: 8 }, () => meeting.come.remote()))).toEqual(Array(8).fill(8));
    expect((await failureOf(meeting.fail.remote())).message).toBe("Task Meeting.fail failed: ValueError: after a while");
    expect(await meeting.thread.remote()).toBe(true);
  });

  test("without it one runs at a time, in order, whether it awaits or not", async () => {
    using meeting = PyMeeting.remote(1);
    await get([0, 1, 2].map((number) => meeting.step.remote(number)));
    expect(await meeting.entries.remote()).toEqual(["+0", "-0", "+1", "-1", "+2", "-2"]);
  });

  test("references are awaited, and others run meanwhile", async () => {
    using meeting = PyMeeting.options({ maxConcurrency: 2 }).remote(1);
    using echo = remote(Echo).options({ numCpus: 0 }).remote();
    const waiting = meeting.wait_for.remote([later.remote("late")]);
    expect(await meeting.come.remote()).toBe(1);
    expect(await waiting).toBe("late");
    expect(await meeting.twice_through.remote(echo, 21)).toBe(42);
    const failing = remote((): never => {
      throw new TypeError("no");
    }).remote();
    expect((await failureOf(meeting.wait_for.remote([failing]))).message).toContain("TypeError: no");
  });

  test("their streams let others run, wait for their readers, and end with them", async () => {
    using meeting = PyMeeting.options({ maxConcurrency: 2 }).remote(1);
    const [one, two] = [meeting.ticks.remote(300), meeting.ticks.remote(200)] as AsyncIterable<number>[];
    expect(
      (await Promise.all([itemsOf(one as AsyncIterable<number>), itemsOf(two as AsyncIterable<number>)])).map(({ length }) => length),
    ).toEqual([300, 200]);
    for await (const item of meeting.ticks.options({ highWaterMark: 2 }).remote(1_000_000) as AsyncIterable<number>) if (item === 5) break;
    await until(async () => (await meeting.entries.remote()).filter((entry) => entry === "end").length === 3, "the generator to end");
  });

  test("a call that nobody waits for any more is cancelled within", async () => {
    using meeting = PyMeeting.options({ maxConcurrency: 2 }).remote(1);
    const hanging = meeting.hang.remote();
    await meeting.come.remote();
    cancel(hanging);
    expect(await failureOf(hanging)).toBeInstanceOf(TaskCancelledError);
    await until(async () => (await meeting.entries.remote()).includes("cancelled"), "the coroutine to be cancelled");
  });

  test("groups have limits of their own, and names that exist", async () => {
    const Grouped = PyMeeting.options({ concurrencyGroups: { waits: 2 }, methods: { come: { concurrencyGroup: "waits" } } });
    using meeting = Grouped.remote(2);
    const first = meeting.come.remote();
    // In the default group, beside the one that waits.
    await meeting.step.remote(1);
    expect(await get([first, meeting.come.remote()])).toEqual([2, 2]);
  });

  test("methods of classes without coroutines run on threads", async () => {
    using crew = PyCrew.options({ maxConcurrency: 4 }).remote(4);
    expect(await get(Array.from({ length: 4 }, () => crew.meet.remote()))).toEqual(Array(4).fill(false));
    using echo = remote(Echo).options({ numCpus: 0 }).remote();
    expect(await get([1, 2, 3, 4].map((value) => crew.from_actor.remote(echo, value)))).toEqual([1, 2, 3, 4]);
    expect(await get([1, 2, 3].map((value) => crew.values.remote([later.remote(value)])))).toEqual([1, 2, 3].map((value) => [value, 10]));
    expect(
      (await Promise.all([1, 2].map((x) => itemsOf(crew.numbers.remote(x * 50) as AsyncIterable<number>)))).map(({ length }) => length),
    ).toEqual([50, 100]);
    expect((await failureOf(crew.fail.remote())).message).toContain("KeyError: 'in a thread'");
  });

  test("actors end after all calls that came before, and from within a thread or a coroutine", async () => {
    const crew = PyCrew.options({ maxConcurrency: 3 }).remote(1);
    const slow = [0.1, 0.2].map((seconds) => crew.sleep.remote(seconds));
    await terminate(crew);
    expect(await get(slow)).toEqual([0.1, 0.2]);
    for (const actor of [PyCrew.options({ maxConcurrency: 3 }).remote(1), PyMeeting.options({ maxConcurrency: 3 }).remote(1)]) {
      await ready(actor);
      expect((await failureOf(actor.leave.remote())).message).toContain("it called exit_actor()");
    }
  });

  test("tasks that are coroutines await references, and are cancelled where they wait", async () => {
    expect(await python.task<(box: unknown[]) => unknown>(FILE, "task_awaits").remote([later.remote(7)])).toEqual([7, 7]);
    const file = join(folder, "hangs");
    const lines = (): string[] => (existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : []);
    const hanging = python.task<(file: string) => void>(FILE, "task_hangs").remote(file);
    await until(() => lines().length > 0, "the task to begin");
    cancel(hanging);
    expect(await failureOf(hanging)).toBeInstanceOf(TaskCancelledError);
    await until(() => lines().at(-1) === "cancelled", "the coroutine to be cancelled");
    const slow = python.task<(box: unknown[]) => [number, unknown]>(FILE, "slow_value");
    let inner: ObjectRef<unknown> = later.remote("deepest");
    for (let depth = 0; depth < 4; depth += 1) inner = slow.remote([inner]);
    const flat: unknown[] = [];
    for (let value = await inner; Array.isArray(value); value = value[1] as unknown) flat.push(value[0]);
    expect(flat).toHaveLength(4);
  });
});
