/** Tests that a timeline has each call once, in rows without overlaps, with arrows from parents, and is JSON for all names. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import { timelineTexts } from "./timeline.ts";

interface Event {
  ph: string;
  name: string;
  pid: number;
  tid: number;
  ts: number;
  dur: number;
  id?: number;
  args?: Record<string, unknown>;
}

async function eventsOf(rows: readonly StateRow[], warnings: string[] = [], batchSize = 3): Promise<Event[]> {
  async function* batches(): AsyncGenerator<{ rows: StateRow[]; warnings: string[]; asOfMs: number }, void, undefined> {
    yield { rows: [], warnings, asOfMs: 1000 };
    for (let at = 0; at < rows.length; at += batchSize) yield { rows: rows.slice(at, at + batchSize), warnings: [], asOfMs: 1000 };
  }
  let text = "";
  for await (const piece of timelineTexts(batches())) text += piece;
  return JSON.parse(text) as Event[];
}

const row = (id: string, startMs: number, endMs: number | null, more: StateRow = {}): StateRow => ({
  task_id: id,
  name: "step",
  state: endMs === null ? "RUNNING" : "FINISHED",
  node_id: "n1",
  worker_id: "w1",
  worker_pid: 7,
  start_time_ms: startMs,
  end_time_ms: endMs,
  ...more,
});

test("calls that overlap get rows of their own, and no slice overlaps another of its row", async () => {
  const spans = fc.array(fc.tuple(fc.nat(100), fc.nat(40), fc.constantFrom("w1", "w2")), { minLength: 1, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(spans, async (given) => {
      const rows = given
        .map(([startMs, lasts, worker], index) => row(`t${index}`, startMs, startMs + lasts, { worker_id: worker }))
        .sort((a, b) => Number(b["start_time_ms"]) - Number(a["start_time_ms"]));
      const slices = (await eventsOf(rows)).filter(({ ph }) => ph === "X");
      expect(new Set(slices.map(({ args }) => args?.["task_id"]))).toEqual(new Set(rows.map(({ task_id: id }) => id)));
      expect(slices).toHaveLength(rows.length);
      for (const one of slices)
        for (const other of slices)
          if (one !== other && one.tid === other.tid) expect(one.ts + one.dur <= other.ts || other.ts + other.dur <= one.ts).toBe(true);
    }),
    { numRuns: 50 },
  );
});

test("a call that runs reaches until now, one that failed says so, and arrows lead from the parent to its children", async () => {
  const events = await eventsOf([
    row("child-2", 40, null, { parent_task_id: "parent", node_id: "n2", worker_id: "w9" }),
    row("child-1", 20, 30.5, { parent_task_id: "parent", worker_id: "w2", state: "FAILED", error_type: "WORKER_DIED" }),
    row("parent", 10, 25),
  ]);
  const slices = events.filter(({ ph }) => ph === "X");
  expect(slices.map(({ name, ts, dur, pid }) => [name, ts, dur, pid])).toEqual([
    ["task::step", 40_000, 960_000, 1],
    ["task::step", 20_000, 10_500, 2],
    ["task::step", 10_000, 15_000, 2],
  ]);
  expect(slices[1]?.args).toMatchObject({ state: "FAILED", error_type: "WORKER_DIED", parent_task_id: "parent" });
  const arrows = events.filter(({ ph }) => ph === "s" || ph === "f").map(({ ph, id, ts, tid }) => [ph, id, ts, tid]);
  const [second, first, parent] = slices.map(({ tid }) => tid);
  expect(arrows).toEqual([
    ["f", 1, 40_000, second],
    ["f", 2, 20_000, first],
    // A child that began after its parent's end was made before it.
    ["s", 1, 25_000, parent],
    ["s", 2, 20_000, parent],
  ]);
  expect(events.filter(({ name }) => name === "process_name").map(({ args }) => args?.["name"])).toEqual(["node n2", "node n1"]);
});

test("no call is an empty list; what is missing stands in the trace; names are no syntax", async () => {
  expect(await eventsOf([])).toEqual([]);
  expect(await eventsOf([], ["Node n1 did not answer."])).toMatchObject([{ ph: "M", args: { text: "Node n1 did not answer." } }]);
  const name = '"},\n{\u2028</script>\\';
  expect((await eventsOf([row("t", 1, 2, { name })])).map((event) => event.name)).toContain(`task::${name}`);
});
