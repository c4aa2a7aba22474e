/**
 * Reads the blocks of a history: calls with the facts of their processes, texts of failures, and the last rows of other resources.
 *
 * Nothing in a block is trusted, and all that is kept is bounded. JSON of another form is left out and named among the warnings. Numbers without a definition show
 * `(other)`, as those of living processes do.
 */
import type { ActorId, JobId } from "../base/ids.ts";
import type { SegmentBlock } from "../os/history/segment-layout.ts";
import * as shape from "../wire/header-shape.ts";
import type { CallView } from "./call-view.ts";
import { callsOfColumns, HISTORY_BLOCK, PROCESS_AT } from "./history-blocks.ts";
import { CALL, CALL_LENGTH, CALL_STATE } from "./observation-layout.ts";
import { bounded, type CallProcess, type ProcessFacts } from "./observed-process.ts";
import type { KeyedRow } from "./select-rows.ts";

/** Bounds on all that a reader keeps of a history. */
interface ReadLimits {
  /** Texts of failures, the newest, and their characters: a node writes up to 8 K each. */
  readonly failures: number;
  readonly failureCharacters: number;
  /** Bytes of all blocks of rows. */
  readonly rowsBytes: number;
  /** Bytes of the blocks of definitions in one segment. A node of a thousand processes writes some ten megabytes. */
  readonly definitionsBytes: number;
}
const READ_LIMITS: ReadLimits = { failures: 50_000, failureCharacters: 2 ** 27, rowsBytes: 2 ** 28, definitionsBytes: 2 ** 28 };
const TIME_MAX_MS = 1e14;

const absent = shape.leaf<null>("null", (value) => value === null);
const processes = shape.list(
  shape.fields({
    number: shape.count,
    id: shape.processId,
    pid: shape.count,
    jobId: shape.text,
    originMs: shape.number,
    cause: shape.optional(shape.text),
    functions: shape.list(shape.tuple(shape.text, shape.either(shape.text, absent))),
    callers: shape.list(shape.text),
  }),
);
const failures = shape.list(shape.tuple(shape.text, shape.count, shape.text));
const rows = shape.list(
  shape.fields({ resource: shape.text, id: shape.text, timeMs: shape.number, row: shape.record(shape.unchecked<unknown>()) }),
);
const counts = shape.list(shape.count);

/** A segment with the node that wrote it. */
export interface BlockSource {
  readonly nodeId: string;
  readonly blocks: Iterable<SegmentBlock>;
}

/** The content of a history beside the calls. */
export class HistoryFacts {
  /** By the prefix of the call's id and its call id. */
  readonly #failures = new Map<string, string>();
  #failureCharacters = 0;
  #rowsBytes = 0;
  /** By resource, then by id. */
  readonly #rows = new Map<string, Map<string, KeyedRow>>();
  lostRows = 0;
  /** Time of the last block. */
  lastMs = 0;
  readonly warnings = new Set<string>();
  readonly #limits: ReadLimits;

  constructor(limits: ReadLimits = READ_LIMITS) {
    this.#limits = limits;
  }

  readonly failureOf = (caller: string, callId: number): string | undefined => this.#failures.get(`${caller}/${callId}`);

  rowsOf(resource: string): Iterable<KeyedRow> {
    return this.#rows.get(resource)?.values() ?? [];
  }

  take({ kind, body, lastMs }: SegmentBlock, nodeId: string): void {
    this.lastMs = Math.max(this.lastMs, bounded(lastMs, TIME_MAX_MS));
    const refuse = (): unknown => this.warnings.add(`A block of node ${nodeId} is malformed, and was left out.`);
    if (kind === HISTORY_BLOCK.failures) {
      const given = parsed(body);
      if (!failures(given)) return void refuse();
      for (const [caller, callId, text] of given) this.#failed(`${caller}/${callId}`, text);
    } else if (kind === HISTORY_BLOCK.rows) {
      this.#rowsBytes += body.length;
      if (this.#rowsBytes > this.#limits.rowsBytes) {
        this.warnings.add(`Rows beyond ${this.#limits.rowsBytes} bytes were left out.`);
        return;
      }
      const given = parsed(body);
      if (!rows(given)) return void refuse();
      for (const { resource, id, timeMs, row } of given) {
        const found = this.#rows.get(resource) ?? new Map<string, KeyedRow>();
        this.#rows.set(resource, found);
        found.set(id, { key: [timeMs, id], row });
      }
    } else if (kind === HISTORY_BLOCK.lost) {
      const given = parsed(body);
      if (!counts(given)) return void refuse();
      for (const lost of given) this.lostRows += lost;
    }
  }

  #failed(call: string, text: string): void {
    this.#failureCharacters += text.length - (this.#failures.get(call)?.length ?? 0);
    this.#failures.set(call, text);
    const { failures: textsMax, failureCharacters: charactersMax } = this.#limits;
    for (const [oldest, { length }] of this.#failures) {
      if (this.#failures.size <= textsMax && this.#failureCharacters <= charactersMax) break;
      this.#failures.delete(oldest);
      this.#failureCharacters -= length;
      this.warnings.add(`Texts of the newest errors alone were read: ${textsMax}, or ${charactersMax} characters, at most.`);
    }
  }
}

/** Yields the calls of a history, block after block. A view's bytes hold for its block. */
export function* callsOf(
  sources: Iterable<BlockSource>,
  warn: (text: string) => void,
  { definitionsBytes: bytesMax } = READ_LIMITS,
): Generator<CallView, void, undefined> {
  for (const { nodeId, blocks } of sources) {
    const known = new Map<number, HistoryProcess>();
    let definitionsBytes = 0;
    for (const { kind, body } of blocks) {
      if (kind === HISTORY_BLOCK.definitions) {
        definitionsBytes += body.length;
        if (definitionsBytes > bytesMax) {
          warn(`A segment of node ${nodeId} has more than ${bytesMax} bytes of definitions, and its rest is left out.`);
          break;
        }
        const given = parsed(body);
        if (!processes(given)) {
          warn(`A block of node ${nodeId} is malformed, and its calls are left out.`);
          break;
        }
        for (const facts of given) {
          const process = known.get(facts.number) ?? new HistoryProcess(nodeId, facts);
          process.learn(facts);
          known.set(facts.number, process);
        }
      } else if (kind === HISTORY_BLOCK.calls) {
        const bytes = callsOfColumns(body);
        for (let at = 0; at < bytes.length; at += CALL_LENGTH) {
          const process = known.get(bytes.readUInt32LE(at + PROCESS_AT));
          const state = bytes.readUInt32LE(at + CALL.state * 4);
          if (process !== undefined && state >= CALL_STATE.finished && state <= CALL_STATE.died) yield { process, bytes, at };
        }
      }
    }
  }
}

type ProcessDefinition = shape.Of<typeof processes>[number];

class HistoryProcess implements CallProcess {
  readonly nodeId: string;
  readonly facts: ProcessFacts;
  cause: string | undefined;
  originMs = 0;
  readonly #functions: { readonly name: string; readonly actor: ActorId | undefined }[] = [{ name: "(other)", actor: undefined }];
  readonly #callers: string[] = [""];

  constructor(nodeId: string, { id, pid, jobId }: ProcessDefinition) {
    this.nodeId = nodeId;
    this.facts = { id, pid, jobId: jobId as JobId };
  }

  learn({ cause, originMs, functions, callers }: ProcessDefinition): void {
    this.cause = cause;
    this.originMs = bounded(originMs, TIME_MAX_MS);
    for (const [name, actor] of functions) this.#functions.push({ name, actor: (actor ?? undefined) as ActorId | undefined });
    this.#callers.push(...callers);
  }

  functionOf(number: number): { readonly name: string; readonly actor: ActorId | undefined } {
    return this.#functions[number] ?? { name: "(other)", actor: undefined };
  }

  taskIdPrefix(caller: number): string {
    return this.#callers[caller] ?? "";
  }
}

function parsed(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("utf8"));
  } catch {
    return undefined;
  }
}
