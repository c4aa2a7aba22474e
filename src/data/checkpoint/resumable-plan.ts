/**
 * The plan of a write with a checkpoint: which steps may run again on a part of the rows, and how a later run knows that they are the same.
 *
 * A resumed run leaves the recorded rows out directly behind the source. So each step has to treat a row alone: a sort, a limit or an aggregate of the
 * remaining rows would be another result. A step is known by its name and a hash over its function's text and its options. Values that a function captures
 * are not in the hash.
 */
import type { ObjectRef } from "../../core/index.ts";
import { describeValue, isPlainObject } from "../../core/internal.ts";
import type { Block } from "../blocks/block.ts";
import { DataError } from "../errors.ts";
import type { LogicalPlan } from "../plan/logical-plan.ts";

/** A step of a recorded plan. */
export interface RecordedStep {
  readonly name: string;
  readonly hash: string;
}

/** Steps whose results depend on other rows, or whose rows share an id. */
const REFUSED: ReadonlySet<string> = new Set(["sample", "numbered", "limit", "explode", "unpivot"]);

/** Options that change no result. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "batchSize",
  "apiKey",
  "apiKeyEnv",
  "headers",
  "concurrency",
  "requestsPerMinute",
  "tokensPerMinute",
  "maxRetries",
  "timeoutMs",
  "price",
]);

/**
 * Describes the steps of a plan, from its source on.
 *
 * @param write - the kind of files, as the last step
 * @throws DataError for a step that cannot run on a part of the rows
 */
export async function recordedSteps(plan: LogicalPlan, write: { readonly name: string }): Promise<RecordedStep[]> {
  const steps: { name: string; content: unknown }[] = [{ name: write.name, content: write }];
  let own = plan;
  for (; !isSource(own); own = own.input) {
    if (own.kind === "blockOrder") continue;
    if (own.kind !== "map" || REFUSED.has(own.transform.kind)) throw refused(own);
    const pool = own.compute?.kind === "actors" ? own.compute.constructorArgs : undefined;
    steps.unshift({ name: own.name, content: [own.transform, pool] });
  }
  steps.unshift({ name: own.name, content: own.name });
  return Promise.all(steps.map(async ({ name, content }) => ({ name, hash: await hashOf(content) })));
}

type SourcePlan = Extract<LogicalPlan, { kind: "read" | "input" | "stored" | "iterable" }>;
type StepPlan = Extract<LogicalPlan, { input: LogicalPlan }>;

function isSource(plan: LogicalPlan): plan is SourcePlan {
  if (plan.kind === "combine" || plan.kind === "union") throw refused(plan);
  return !("input" in plan);
}

function refused({ name }: { readonly name: string }): DataError {
  return new DataError(`Cannot write with a checkpoint: a resumed run repeats only steps that treat each row alone: received ${name}`, {
    hint: "write the rows of the steps before it with the checkpoint, and read these files for the steps behind it",
  });
}

/**
 * The plan without the recorded rows.
 *
 * @param recorded - the recorded ids; undefined if there are none
 */
export function withoutRecorded(
  plan: LogicalPlan,
  { idColumn, runId, recorded }: { readonly idColumn: string; readonly runId: string; readonly recorded: ObjectRef<Block> | undefined },
): LogicalPlan {
  if (!isSource(plan)) return { ...plan, input: withoutRecorded((plan as StepPlan).input, { idColumn, runId, recorded }) } as LogicalPlan;
  const name = `withoutRecorded(${idColumn})`;
  return { kind: "map", name, input: plan, transform: { kind: "leaveOut", name, idColumn, runId, recorded }, options: {} };
}

/** @throws DataError unless both are the same steps */
export function checkSameSteps(path: string, recorded: readonly RecordedStep[], steps: readonly RecordedStep[]): void {
  const place = Array.from({ length: Math.max(recorded.length, steps.length) }, (_, i) => i).find(
    (i) => recorded[i]?.name !== steps[i]?.name || recorded[i]?.hash !== steps[i]?.hash,
  );
  if (place === undefined) return;
  const [before, now] = [recorded[place]?.name ?? "no step", steps[place]?.name ?? "no step"];
  const change = before === now ? `${now}, with another function or other options` : `${now}, in place of ${before}`;
  throw new DataError(`Cannot resume from ${path}: step ${place + 1} of the plan has changed: received ${change}`, {
    hint: "run the plan of before, or give another path, which begins anew",
  });
}

async function hashOf(content: unknown): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", Buffer.from(JSON.stringify(content, plain) ?? "undefined"));
  return Buffer.from(bytes).toString("hex").slice(0, 16);
}

/** Functions by their text, and the members of objects in one order. */
function plain(key: string, value: unknown): unknown {
  if (WITHOUT_EFFECT.has(key)) return undefined;
  if (typeof value === "function") return `function ${String(value)}`;
  if (typeof value === "bigint") return `bigint ${value}`;
  if (isPlainObject(value)) return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (ArrayBuffer.isView(value)) return describeValue(value);
  return value;
}
