/**
 * Reads the state of a living cluster: the head has nodes, actors and placement groups, each daemon its workers and jobs.
 *
 * Daemons filter their own rows and answer with a page each, which is merged here; rows of the head are filtered here. Nodes are asked 64
 * at a time. A node that does not answer in time is named in the answer, and the other rows are shown.
 */
import type { NodeId } from "../../runtime/base/ids.ts";
import { actorRow, groupRow, nodeRow } from "../../runtime/observe/cluster-rows.ts";
import { firstRows, type KeyedRow, selectRows, type StateRow } from "../../runtime/observe/select-rows.ts";
import { MESSAGE, type NodeHeader } from "../../runtime/wire/messages.ts";
import type { ReplyTo } from "../../runtime/wire/tables/replies.ts";
import type { NodeResource, StateKey, StateQuery } from "../../runtime/wire/observing/state-messages.ts";
import { checkedFilters, COLUMNS } from "./columns.ts";
import { type Gathered, listAnswer, stateQuery } from "./list-answer.ts";
import { LIMIT_MAX, NODES_ASKED_AT_ONCE, STATE_TIMEOUT_DEFAULT_MS } from "./limits.ts";
import {
  type ListAnswer,
  type ListQuery,
  requireResource,
  type SpanBatch,
  type SpanQuery,
  type StateReader,
  type StateResource,
  type SummaryAnswer,
  type SummaryRow,
} from "./state-reader.ts";

/** Asks the node of this process. */
export type Ask = <N extends number>(type: N, header: unknown, options: { timeoutMs: number }) => Promise<ReplyTo<N>>;

interface NodeQuery {
  readonly resource: NodeResource;
  readonly query: StateQuery;
  /** Ids of calls that have begun. */
  readonly begun?: readonly string[];
}

export class LiveReader implements StateReader {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async list(resource: StateResource, query: ListQuery = {}): Promise<ListAnswer> {
    const asked = stateQuery(resource, query);
    return listAnswer(resource, asked, await this.#gather(resource, asked, query.timeoutMs ?? STATE_TIMEOUT_DEFAULT_MS));
  }

  async get(resource: StateResource, id: string): Promise<StateRow | undefined> {
    requireResource(resource);
    return (await this.list(resource, { filters: [[COLUMNS[resource].id, "=", id]], limit: 1, detail: true })).rows[0];
  }

  async summarize(resource: StateResource): Promise<SummaryAnswer> {
    if (resource !== "actors" && resource !== "tasks")
      throw new RangeError(`Cannot summarize ${resource}: there are summaries of actors and tasks`);
    const { rows, asOfMs, warnings, failures } =
      resource === "actors"
        ? await this.#gather(resource, ALL_ROWS, STATE_TIMEOUT_DEFAULT_MS)
        : await this.#calls(["task_counts", "pending_counts"], ALL_ROWS, STATE_TIMEOUT_DEFAULT_MS);
    const sums = new Map<string, SummaryRow & { state_counts: Record<string, number> }>();
    let total = 0;
    for (const { row } of rows) {
      const { name, type, counts } = countsOf(row);
      const summary = sums.get(`${type} ${name}`) ?? { name, type, state_counts: {} };
      sums.set(`${type} ${name}`, summary);
      for (const [state, count] of Object.entries(counts)) {
        summary.state_counts[state] = (summary.state_counts[state] ?? 0) + count;
        total += count;
      }
    }
    return { total, rows: Array.from(sums.values()), warnings: [...failures, ...warnings], as_of_ms: asOfMs };
  }

  async *spans({ filters = [], timeoutMs = STATE_TIMEOUT_DEFAULT_MS }: SpanQuery = {}): AsyncGenerator<SpanBatch, void, undefined> {
    const query = { filters: checkedFilters("tasks", [...filters, ["start_time_ms", ">", 0]]), limit: LIMIT_MAX, detail: true };
    const nodes = (await this.#nodes(timeoutMs)).filter(({ alive }) => alive);
    const feeds = nodes.map(({ nodeId }) => {
      const ask = (before: StateKey | undefined): Promise<NodeStateAnswer> =>
        this.#askNode(nodeId, { resource: "task_spans", query: { ...query, before } }, timeoutMs);
      return new SpanFeed(nodeId, ask);
    });
    yield* mergedSpans(feeds);
  }

  async #gather(resource: StateResource, query: StateQuery, timeoutMs: number): Promise<Gathered> {
    const asOfMs = Date.now();
    const ofHead = (rows: Iterable<KeyedRow>): Gathered => ({
      ...selectRows(rows, query),
      numDropped: 0,
      asOfMs,
      warnings: [],
      failures: [],
    });
    switch (resource) {
      case "actors": {
        const asked = { includeDead: true, namespace: undefined, detail: true };
        return ofHead((await this.#ask(MESSAGE.ACTOR_LIST, asked, { timeoutMs })).map(actorRow));
      }
      case "placement_groups":
        return ofHead((await this.#ask(MESSAGE.GROUPS, undefined, { timeoutMs })).map(groupRow));
      case "nodes":
        return ofHead((await this.#nodes(timeoutMs)).map(nodeRow));
      case "tasks":
        return this.#calls(["tasks", "pending_tasks"], query, timeoutMs);
      case "jobs":
      case "workers":
        return this.#fromNodes({ resource, query }, timeoutMs);
    }
  }

  async #nodes(timeoutMs: number): Promise<NodeHeader[]> {
    return this.#ask(MESSAGE.NODES, undefined, { timeoutMs });
  }

  /**
   * Gathers the calls that have begun, from workers, then those that have not, from the processes that made them. Those learn which have
   * begun, so no call is counted twice; a call that begins in between is still listed, as one that waits.
   */
  async #calls([begun, pending]: ["tasks" | "task_counts", NodeResource], query: StateQuery, timeoutMs: number): Promise<Gathered> {
    const first = await this.#fromNodes({ resource: begun, query }, timeoutMs);
    const second = await this.#fromNodes({ resource: pending, query, begun: first.begun }, timeoutMs);
    // An answer may be under way to the caller: the record of the end is the later fact.
    const known = begun === "tasks" ? new Set(first.rows.map(({ key }) => key[1])) : undefined;
    const waiting = second.rows.filter(({ key }) => known?.has(key[1]) !== true);
    const twice = second.rows.length - waiting.length;
    return {
      rows: firstRows([...first.rows, ...waiting], query),
      total: first.total + second.total - twice,
      numFiltered: first.numFiltered + second.numFiltered - twice,
      numDropped: first.numDropped,
      asOfMs: Math.min(first.asOfMs, second.asOfMs),
      warnings: [...first.warnings, ...second.warnings],
      failures: Array.from(new Set([...first.failures, ...second.failures])),
    };
  }

  async #fromNodes(asked: NodeQuery, timeoutMs: number): Promise<Gathered & { readonly begun: string[] }> {
    const nodes = (await this.#nodes(timeoutMs)).filter(({ alive }) => alive);
    const failures: string[] = [];
    const answers: NodeStateAnswer[] = [];
    for (let first = 0; first < nodes.length; first += NODES_ASKED_AT_ONCE) {
      const some = nodes.slice(first, first + NODES_ASKED_AT_ONCE);
      const settled = await Promise.allSettled(some.map(({ nodeId }) => this.#askNode(nodeId, asked, timeoutMs)));
      for (const [index, result] of settled.entries()) {
        if (result.status === "fulfilled") answers.push(result.value);
        else failures.push(`Node ${some[index]?.nodeId} did not answer: ${(result.reason as Error).message}.`);
      }
    }
    const rows = answers.flatMap(keyedRows);
    return {
      rows: firstRows(rows, asked.query),
      total: sum(answers.map(({ total }) => total)),
      numFiltered: sum(answers.map(({ numFiltered }) => numFiltered)),
      numDropped: sum(answers.map(({ numDropped }) => numDropped)),
      asOfMs: Math.min(Date.now(), ...answers.map(({ asOfMs }) => asOfMs)),
      warnings: answers.flatMap(({ warnings }) => warnings),
      failures,
      begun: answers.flatMap(({ begun = [] }) => begun),
    };
  }

  #askNode(node: NodeId, asked: NodeQuery, timeoutMs: number): Promise<NodeStateAnswer> {
    return this.#ask(MESSAGE.NODE_STATE, { node, ...asked }, { timeoutMs });
  }
}

type NodeStateAnswer = ReplyTo<typeof MESSAGE.NODE_STATE>;

/** The calls of one node, page after page. */
class SpanFeed {
  rows: KeyedRow[] = [];
  isDone = false;
  warnings: string[] = [];
  readonly #node: string;
  readonly #ask: (before: StateKey | undefined) => Promise<NodeStateAnswer>;
  #before: StateKey | undefined;

  constructor(node: string, ask: (before: StateKey | undefined) => Promise<NodeStateAnswer>) {
    this.#node = node;
    this.#ask = ask;
  }

  /** Start of the next call; -Infinity where there is none. */
  get nextMs(): number {
    return Number(this.rows.at(-1)?.key[0] ?? Number.NEGATIVE_INFINITY);
  }

  async fill(): Promise<void> {
    try {
      const answer = await this.#ask(this.#before);
      if (this.#before === undefined && answer.numDropped > 0)
        this.warnings.push(`Node ${this.#node}: ${answer.numDropped} calls are counted and were not kept.`);
      // The oldest last, as rows are taken from the end.
      this.rows = keyedRows(answer).reverse();
      this.isDone = answer.rows.length < LIMIT_MAX;
      this.#before = this.rows[0]?.key;
    } catch (error) {
      this.isDone = true;
      this.warnings.push(`Node ${this.#node} did not answer: ${(error as Error).message}.`);
    }
  }
}

/** Merges the calls of all nodes, the newest first, as a parent and its child may be on different nodes. */
async function* mergedSpans(feeds: readonly SpanFeed[]): AsyncGenerator<SpanBatch, void, undefined> {
  for (;;) {
    await Promise.all(feeds.filter(({ rows, isDone }) => rows.length === 0 && !isDone).map((feed) => feed.fill()));
    const warnings = feeds.flatMap((feed) => feed.warnings.splice(0));
    const rows: StateRow[] = [];
    for (;;) {
      let newest: SpanFeed | undefined;
      for (const feed of feeds) if (feed.nextMs > (newest?.nextMs ?? Number.NEGATIVE_INFINITY)) newest = feed;
      const taken = newest?.rows.pop();
      if (newest === undefined || taken === undefined) break;
      rows.push(taken.row);
      if (newest.rows.length === 0 && !newest.isDone) break;
    }
    if (rows.length === 0 && warnings.length === 0) return;
    yield { rows, warnings, asOfMs: Date.now() };
  }
}

const ALL_ROWS: StateQuery = { filters: [], limit: Number.MAX_SAFE_INTEGER, detail: true };

function keyedRows({ rows, keys }: NodeStateAnswer): KeyedRow[] {
  return rows.flatMap((row, index) => {
    const key = keys[index];
    return key === undefined ? [] : [{ row, key }];
  });
}

/** An actor counts for itself; a node sends sums of calls. */
function countsOf(row: StateRow): { name: string; type: string; counts: Record<string, number> } {
  const { class_name: className, state, name, type, state_counts: counts } = row;
  if (typeof className === "string") return { name: className, type: "ACTOR", counts: { [String(state)]: 1 } };
  const numbers = Object.entries(counts ?? {}).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return { name: String(name), type: String(type), counts: Object.fromEntries(numbers) };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
