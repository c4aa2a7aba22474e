/** Tests that the head's history has the last row of each actor and group, and that the rows of a stopped cluster end. */
import { expect, test } from "vitest";
import { HISTORY_BLOCK } from "../observe/history-blocks.ts";
import type { HistorySink } from "../observe/history-recorder.ts";
import type { SegmentBlock } from "../os/history/segment-layout.ts";
import { HeadHistory } from "./head-history.ts";

interface Written {
  readonly resource: string;
  readonly id: string;
  readonly row: { readonly state: string; readonly death_cause?: { readonly reason: string } };
}

function newHistory() {
  const blocks: SegmentBlock[] = [];
  const sink: HistorySink & { wantsSegment: boolean } = {
    lostRows: 0,
    wantsSegment: true,
    beginSegment: () => (sink.wantsSegment = false),
    append: (block) => blocks.push(block),
    close: () => Promise.resolve(),
  };
  const history = new HeadHistory(sink);
  const states = new Map<string, string>();
  const change = (id: string, state: string, resource: "actors" | "placement_groups" = "actors"): void => {
    states.set(id, state);
    history.changed(resource, id, () => ({ key: [7, id], row: { state: states.get(id) } }));
  };
  const written = (): Written[] => {
    const rows = blocks.splice(0).filter(({ kind }) => kind === HISTORY_BLOCK.rows);
    return rows.flatMap(({ body }) => JSON.parse(Buffer.from(body).toString("utf8")) as Written[]);
  };
  return { history, sink, change, written };
}

test("changes within half a second are one row, with the last state", () => {
  const { history, change, written } = newHistory();
  change("a", "PENDING_CREATION");
  change("a", "ALIVE");
  change("a", "DEAD");
  change("b", "ALIVE");
  history.flush();
  expect(written().map(({ id, row }) => [id, row.state])).toEqual([
    ["a", "DEAD"],
    ["b", "ALIVE"],
  ]);
  history.flush();
  expect(written()).toEqual([]);
});

test("a new segment repeats the rows of what lives", () => {
  const { history, sink, change, written } = newHistory();
  change("a", "ALIVE");
  change("b", "DEAD");
  history.flush();
  written();
  sink.wantsSegment = true;
  change("c", "CREATED", "placement_groups");
  history.flush();
  expect(written().map(({ resource, id }) => [resource, id])).toEqual([
    ["actors", "a"],
    ["placement_groups", "c"],
  ]);
});

test("where the cluster ends with its head, what lived has ended; a head with rivals leaves it alive", async () => {
  const ended = newHistory();
  ended.change("a", "ALIVE");
  ended.change("g", "CREATED", "placement_groups");
  await ended.history.close(true);
  const rows = ended.written();
  expect(rows.slice(-2).map(({ id, row }) => [id, row.state])).toEqual([
    ["a", "DEAD"],
    ["g", "REMOVED"],
  ]);
  expect(rows.at(-2)?.row.death_cause?.reason).toBe("The cluster was stopped.");
  const followed = newHistory();
  followed.change("a", "ALIVE");
  await followed.history.close(false);
  expect(followed.written().map(({ row }) => row.state)).toEqual(["ALIVE"]);
});
