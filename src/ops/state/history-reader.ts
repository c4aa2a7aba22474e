/**
 * Reads the state of a cluster from a history folder: calls, workers, programs and nodes, as they were when the last block was written.
 *
 * Scans the folder for each question, one block in memory at a time, and filters and pages as the live reader does. Resources
 * without a history are refused by name.
 */
import {
  callRow,
  callSource,
  callSpan,
  type CallView,
  addCounts,
  functionOf,
  type NamedCounts,
  stateOf,
} from "../../runtime/observe/call-view.ts";
import { type BlockSource, callsOf, HistoryFacts } from "../../runtime/observe/history-calls.ts";
import { type KeyedRow, selectItems, selectRows, type StateRow } from "../../runtime/observe/select-rows.ts";
import { blocksOf, historyFolder, segmentsOf } from "../../runtime/os/history/segment-reader.ts";
import type { StateQuery } from "../../runtime/wire/state-messages.ts";
import { checkedFilters, COLUMNS } from "./columns.ts";
import { listAnswer, stateQuery } from "./list-answer.ts";
import { LIMIT_MAX } from "./limits.ts";
import {
  type ListAnswer,
  type ListQuery,
  type SpanBatch,
  type SpanQuery,
  requireResource,
  type StateReader,
  type StateResource,
  type SummaryAnswer,
} from "./state-reader.ts";

const KEPT: ReadonlySet<StateResource> = new Set(["jobs", "nodes", "tasks", "workers"]);

export class HistoryReader implements StateReader {
  readonly #folder: string;

  /** @throws ShoalError for a folder without a history */
  constructor(folder: string) {
    this.#folder = historyFolder(folder);
  }

  // oxlint-disable-next-line require-await -- errors are rejections, as of the live reader
  async list(resource: StateResource, query: ListQuery = {}): Promise<ListAnswer> {
    const asked = stateQuery(resource, query);
    requireKept(resource);
    const facts = this.#facts();
    if (resource !== "tasks") return this.#answer(resource, asked, { ...selectRows(facts.rowsOf(resource), asked), facts });
    const { page, ...counts } = selectItems(callSource(this.#calls(facts), { failureOf: facts.failureOf }), asked);
    const rows = page.map(({ key, item }): KeyedRow => ({ key, row: callRow(item, asked.detail, facts.failureOf) }));
    return this.#answer(resource, asked, { rows, ...counts, facts });
  }

  async get(resource: StateResource, id: string): Promise<StateRow | undefined> {
    requireResource(resource);
    return (await this.list(resource, { filters: [[COLUMNS[resource].id, "=", id]], limit: 1, detail: true })).rows[0];
  }

  // oxlint-disable-next-line require-await -- errors are rejections, as of the live reader
  async *spans({ filters = [] }: SpanQuery = {}): AsyncGenerator<SpanBatch, void, undefined> {
    const facts = this.#facts();
    const query = { filters: checkedFilters("tasks", filters), limit: Number.MAX_SAFE_INTEGER, detail: true };
    const { page } = selectItems(callSource(this.#calls(facts), { failureOf: facts.failureOf, isExact: true }), query);
    yield { rows: [], warnings: warningsOf(facts), asOfMs: facts.lastMs };
    for (let first = 0; first < page.length; first += LIMIT_MAX) {
      const rows = page.slice(first, first + LIMIT_MAX).map(({ item }) => callSpan(item, facts.failureOf));
      yield { rows, warnings: [], asOfMs: facts.lastMs };
    }
  }

  // oxlint-disable-next-line require-await -- errors are rejections, as of the live reader
  async summarize(resource: StateResource): Promise<SummaryAnswer> {
    if (resource !== "tasks") throw new RangeError(`Cannot summarize ${resource}: a history has summaries of tasks alone`);
    const facts = this.#facts();
    const sums = new Map<string, NamedCounts>();
    let total = 0;
    for (const view of this.#calls(facts)) {
      const { name, actor } = functionOf(view);
      addCounts(sums, { name, actor, state: stateOf(view), count: 1 });
      total += 1;
    }
    const rows = Array.from(sums.values(), ({ name, type, counts }) => ({ name, type, state_counts: counts }));
    return { total, rows, warnings: warningsOf(facts), as_of_ms: facts.lastMs };
  }

  /** Reads all but the calls: a text of a failure may come behind its call. */
  #facts(): HistoryFacts {
    const facts = new HistoryFacts();
    for (const { nodeId, blocks } of this.#sources(facts)) for (const block of blocks) facts.take(block, nodeId);
    return facts;
  }

  #calls(facts: HistoryFacts): Iterable<CallView> {
    return callsOf(this.#sources(facts), (text) => facts.warnings.add(text));
  }

  *#sources(facts: HistoryFacts): Generator<BlockSource, void, undefined> {
    for (const segment of segmentsOf(this.#folder))
      yield { nodeId: segment.nodeId, blocks: blocksOf(segment, (text) => facts.warnings.add(text)) };
  }

  #answer(
    resource: StateResource,
    query: StateQuery,
    { facts, ...found }: { rows: KeyedRow[]; total: number; numFiltered: number; facts: HistoryFacts },
  ): ListAnswer {
    const numDropped = resource === "tasks" ? facts.lostRows : 0;
    return listAnswer(resource, query, { ...found, numDropped, asOfMs: facts.lastMs, warnings: warningsOf(facts), failures: [] });
  }
}

function warningsOf({ warnings, lostRows }: HistoryFacts): string[] {
  return [...warnings, ...(lostRows === 0 ? [] : [`${lostRows} calls were not written, as the disk was full or too slow.`])];
}

function requireKept(resource: StateResource): void {
  if (KEPT.has(resource)) return;
  throw new RangeError(`Cannot list ${resource}: a history has ${Array.from(KEPT).join(", ")}`);
}
