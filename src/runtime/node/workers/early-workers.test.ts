/** Workers that start before the daemon: their number, their takers, and that none is left. */
import { expect, test } from "vitest";
import { EarlyWorkers } from "./early-workers.ts";

function make(cpus: number): { early: EarlyWorkers<number>; log: string[]; gone: Map<number, () => void> } {
  const log: string[] = [];
  const gone = new Map<number, () => void>();
  const early = new EarlyWorkers<number>({
    cpus,
    start: (ended) => {
      const number = gone.size + 1;
      gone.set(number, ended);
      log.push(`start ${number}`);
      return number;
    },
    end: (worker) => log.push(`end ${worker}`),
  });
  return { early, log, gone };
}

test("as many start as the node starts ahead: one, or two where it has the CPUs", () => {
  expect([0, 0.5, 1, 1.5, 8].map((cpus) => make(cpus).log.length)).toEqual([1, 1, 1, 2, 2]);
});

test("they are taken in their order, each once, and not when they have ended", () => {
  const { early, gone } = make(2);
  expect([early.take(), early.take(), early.take()]).toEqual([1, 2, undefined]);
  const other = make(2);
  other.gone.get(1)?.();
  expect([other.early.take(), other.early.take()]).toEqual([2, undefined]);
  gone.get(1)?.();
});

test("the end waits for those that nobody took", async () => {
  const { early, log, gone } = make(2);
  early.take();
  void early.close().then(() => log.push("closed"));
  await Promise.resolve();
  expect(log).toEqual(["start 1", "start 2", "end 2"]);
  gone.get(2)?.();
  await Promise.resolve();
  expect(log.at(-1)).toBe("closed");
  const none = make(1);
  none.early.take();
  await none.early.close();
});
