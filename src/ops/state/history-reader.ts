/**
 * Reads the state of a cluster from history folders, as it was when the last block was written.
 *
 * Each machine of a cluster has one folder; the head's has actors and placement groups. A question scans all folders, one block
 * in memory at a time, and filters and pages as the live reader does.
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
import { HEAD_FOLDER } from "../../runtime/os/history/segment-layout.ts";
import { blocksOf, historyFolder, segmentsOf, versionOf } from "../../runtime/os/history/segment-reader.ts";
import type { StateQuery } from "../../runtime/wire/observing/state-messages.ts";
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

/** Rows that the head writes. */
const OF_HEAD: ReadonlySet<StateResource> = new Set(["actors", "placement_groups"]);

export class HistoryReader implements StateReader {
  readonly #folders: readonly string[];

  /** @throws ShoalError for a folder without a history */
  constructor(...folders: readonly string[]) {
    this.#folders = Array.from(new Set(folders.map(historyFolder)));
  }

  // oxlint-disable-next-line require-await -- errors are rejections, as of the live reader
  async list(resource: StateResource, query: ListQuery = {}): Promise<ListAnswer> {
    const asked = stateQuery(resource, query);
    const facts = this.#facts();
    if (OF_HEAD.has(resource)) this.#warnWithoutHead(facts);
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
    if (resource !== "tasks" && resource !== "actors")
      throw new RangeError(`Cannot summarize ${resource}: there are summaries of actors and tasks`);
    const facts = this.#facts();
    if (resource === "actors") return this.#summaryOfActors(facts);
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

  /** Names the bytes that answers are made from: other bytes have another version. */
  version(): string {
    return versionOf(this.#segments());
  }

  #summaryOfActors(facts: HistoryFacts): SummaryAnswer {
    this.#warnWithoutHead(facts);
    const sums = new Map<string, Map<string, number>>();
    let total = 0;
    for (const { row } of facts.rowsOf("actors")) {
      const counts = sums.get(String(row["class_name"])) ?? new Map<string, number>();
      sums.set(String(row["class_name"]), counts);
      counts.set(String(row["state"]), (counts.get(String(row["state"])) ?? 0) + 1);
      total += 1;
    }
    const rows = Array.from(sums, ([name, counts]) => ({ name, type: "ACTOR", state_counts: Object.fromEntries(counts) }));
    return { total, rows, warnings: warningsOf(facts), as_of_ms: facts.lastMs };
  }

  /** Machines without a head keep no rows of actors, and an empty list would say that there were none. */
  #warnWithoutHead(facts: HistoryFacts): void {
    if (this.#segments().some(({ nodeId }) => nodeId === HEAD_FOLDER)) return;
    facts.warnings.add("Actors and placement groups are in the history of the head's machine, which was not given.");
  }

  #segments(): ReturnType<typeof segmentsOf> {
    return this.#folders.flatMap((folder) => segmentsOf(folder));
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
    for (const segment of this.#segments()) yield { nodeId: segment.nodeId, blocks: blocksOf(segment, (text) => facts.warnings.add(text)) };
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
