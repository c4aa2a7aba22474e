/**
 * Writes calls as a Chrome trace, which Perfetto and chrome://tracing open: a row for each process, a slice for each call.
 *
 * Reads calls newest first and keeps only what later slices need, so the number of calls has no limit. Viewers show no slices that overlap
 * in a row, so calls that overlap get rows of their own. Arrows lead from a call to the calls that it made. Pure.
 */
import type { StateRow } from "../../runtime/observe/select-rows.ts";
import type { SpanBatch } from "./state-reader.ts";

/** A row of slices. */
interface Lane {
  readonly pid: number;
  readonly tid: number;
  /** Start of the earliest slice so far. */
  firstMs: number;
}

interface Process {
  readonly pid: number;
  readonly lanes: Lane[];
}

/** Arrows to calls whose parent has not been read yet. */
interface Arrow {
  readonly id: number;
  readonly childStartMs: number;
}

const MICROSECONDS = 1_000;

/** Yields the text of a JSON array in pieces, one event a line. */
export async function* timelineTexts(batches: AsyncIterable<SpanBatch>): AsyncGenerator<string, void, undefined> {
  const timeline = new Timeline();
  let separator = "[\n";
  for await (const { rows, warnings, asOfMs } of batches) {
    const events: string[] = [];
    for (const text of warnings) events.push(JSON.stringify({ ph: "M", name: "warning", pid: 0, tid: 0, args: { text } }));
    for (const row of rows) for (const event of timeline.eventsOf(row, asOfMs)) events.push(JSON.stringify(event));
    if (events.length === 0) continue;
    yield separator + events.join(",\n");
    separator = ",\n";
  }
  yield separator === "[\n" ? "[]\n" : "\n]\n";
}

class Timeline {
  readonly #nodes = new Map<string, number>();
  readonly #processes = new Map<string, Process>();
  readonly #arrows = new Map<string, Arrow[]>();
  #nextTid = 1;
  #nextArrow = 1;

  /** @param row - older than the rows before */
  eventsOf(row: StateRow, nowMs: number): object[] {
    const startMs = Number(row["start_time_ms"]);
    const end = row["end_time_ms"];
    const endMs = Math.max(startMs, typeof end === "number" ? end : nowMs);
    const events: object[] = [];
    const { pid, tid } = this.#laneOf(row, { startMs, endMs }, events);
    const name = `task::${String(row["name"])}`;
    events.push({
      ph: "X",
      cat: name,
      name,
      pid,
      tid,
      ts: startMs * MICROSECONDS,
      dur: (endMs - startMs) * MICROSECONDS,
      // Colours of the trace format.
      ...(row["state"] === "FAILED" ? { cname: "terrible" } : {}),
      args: Object.fromEntries(ARGUMENTS.map((column) => [column, row[column] ?? null])),
    });
    const place = { pid, tid, cat: "made", name: "made" };
    for (const { id, childStartMs } of this.#arrows.get(String(row["task_id"])) ?? [])
      events.push({ ph: "s", id, ...place, ts: Math.min(endMs, Math.max(startMs, childStartMs)) * MICROSECONDS });
    this.#arrows.delete(String(row["task_id"]));
    const parent = row["parent_task_id"];
    if (typeof parent === "string") {
      const id = this.#nextArrow++;
      const arrows = this.#arrows.get(parent);
      if (arrows === undefined) this.#arrows.set(parent, [{ id, childStartMs: startMs }]);
      else arrows.push({ id, childStartMs: startMs });
      events.push({ ph: "f", bp: "e", id, ...place, ts: startMs * MICROSECONDS });
    }
    return events;
  }

  /** Rows come with falling starts: a lane is free for a call that ends before the lane's earliest slice. */
  #laneOf(row: StateRow, { startMs, endMs }: { startMs: number; endMs: number }, events: object[]): Lane {
    const workerId = String(row["worker_id"]);
    const process = this.#processes.get(workerId) ?? { pid: this.#nodeOf(String(row["node_id"]), events), lanes: [] };
    this.#processes.set(workerId, process);
    let lane = process.lanes.find(({ firstMs }) => endMs <= firstMs);
    if (lane === undefined) {
      const { pid } = process;
      lane = { pid, tid: this.#nextTid++, firstMs: startMs };
      process.lanes.push(lane);
      const beside = process.lanes.length === 1 ? "" : ` (${process.lanes.length})`;
      const name = `worker ${String(row["worker_pid"])}${beside}`;
      events.push({ ph: "M", name: "thread_name", pid, tid: lane.tid, args: { name } });
    }
    lane.firstMs = startMs;
    return lane;
  }

  #nodeOf(nodeId: string, events: object[]): number {
    const known = this.#nodes.get(nodeId);
    if (known !== undefined) return known;
    const pid = this.#nodes.size + 1;
    this.#nodes.set(nodeId, pid);
    events.push({ ph: "M", name: "process_name", pid, tid: 0, args: { name: `node ${nodeId}` } });
    return pid;
  }
}

const ARGUMENTS = ["task_id", "state", "attempt_number", "actor_id", "job_id", "parent_task_id", "error_type"] as const;
