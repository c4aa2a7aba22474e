/**
 * Reads the episodes of Parquet files through `shoal/data`, and checks every value against the spaces of a module.
 *
 * Files have one row an episode or one row a step; the columns say which. Observations are encoded as they arrive, so that memory holds numbers alone. Steps of an episode may be in
 * any order and in several files.
 */
import { describeValue, messageOf } from "../../../core/internal.ts";
import { RLError } from "../../errors.ts";
import { INPUT_NUMBERS_MAX } from "../../limits.ts";
import type { BuiltModule } from "../../modules/module-spec.ts";
import { SEQUENCE_END } from "../../sequences/fragment.ts";
import { columnLayout } from "../../spaces/columns.ts";
import { Discrete } from "../../spaces/discrete.ts";
import type { NumericArray } from "../../spaces/dtype.ts";
import { MultiDiscrete } from "../../spaces/multi-discrete.ts";
import type { Space } from "../../spaces/space.ts";
import { COLUMN_NAMES, type ColumnName, FORMS } from "./episode-columns.ts";
import { fromStored } from "./stored-values.ts";

/** An episode as numbers. */
export interface EncodedEpisode {
  readonly epsId: string;
  /** Encoded, without connectors; one more than there are steps. */
  readonly obs: Float32Array;
  /** In the policy's range. */
  readonly actions: NumericArray;
  readonly rewards: Float64Array;
  /** NaN where it is not known. */
  readonly actionLogp: Float32Array;
  /** By `SEQUENCE_END`. An episode without an end in the files is cut. */
  readonly end: number;
}

export interface ReadOptions {
  /** Whether the files must have one row an episode (true), or one row a step. Default: as the columns say. */
  readonly inputReadEpisodes?: boolean | undefined;
  /** Whether numbers of actions are those of the policy, from -1 to 1, as RLlib records them. */
  readonly actionsInInputNormalized?: boolean | undefined;
}

type Row = Readonly<Record<string, unknown>>;
/** The value of a column in a row. */
type Take = (row: Row, column: ColumnName) => unknown;

/** A dataset as this file needs it. */
interface Rows {
  schema(): Promise<{ readonly names: readonly string[]; readonly types: readonly string[] }>;
  iterRows(): AsyncIterable<Row>;
}

/**
 * Reads all episodes of some files or folders.
 *
 * @throws RLError where there are none, a column is missing, or a value is not in its space; the message has the row and the column
 */
export async function readEpisodes(
  paths: string | readonly string[],
  built: BuiltModule,
  options: ReadOptions = {},
): Promise<EncodedEpisode[]> {
  const from = Array.isArray(paths) ? paths.join(", ") : (paths as string);
  const refusal = (reason: string, cause?: unknown): RLError =>
    new RLError(`Cannot read episodes of ${from}: ${reason}`, cause === undefined ? {} : { cause });
  try {
    const { readParquet } = await import("../../../data/index.ts");
    // No CPU: the caller, such as the actor of a trial, may hold the last one.
    return await episodesOf(readParquet(paths as string | string[], { numCpus: 0 }), built, { ...options, refusal });
  } catch (cause) {
    throw cause instanceof RLError ? cause : refusal(messageOf(cause), cause);
  }
}

type Refusal = (reason: string, cause?: unknown) => RLError;

/** The episodes of a dataset. */
export async function episodesOf(
  dataset: Rows,
  built: BuiltModule,
  { refusal, ...options }: ReadOptions & { readonly refusal: Refusal },
): Promise<EncodedEpisode[]> {
  const { form, take } = columnsOf(await dataset.schema(), options.inputReadEpisodes, refusal);
  const reader = new RowReader(built, take, { isNormalized: options.actionsInInputNormalized ?? false, refusal });
  let row = 0;
  for await (const each of dataset.iterRows()) {
    if (form === "episodes") reader.addEpisode(each, row);
    else reader.addStep(each, row);
    row += 1;
  }
  const episodes = reader.finish();
  if (episodes.length === 0) throw refusal("there are no episodes. Record some with offlineData({ output })");
  return episodes;
}

/** Finds the form of a table and its columns' names. */
function columnsOf(
  { names, types }: { readonly names: readonly string[]; readonly types: readonly string[] },
  wanted: boolean | undefined,
  refusal: Refusal,
): { form: "episodes" | "steps"; take: Take } {
  const found = new Map<ColumnName, string>();
  for (const [column, spellings] of Object.entries(COLUMN_NAMES) as [ColumnName, readonly string[]][]) {
    const own = spellings.filter((name) => names.includes(name));
    if (own.length > 1) throw refusal(`there are the columns ${own.join(" and ")}, which mean the same. Leave one out`);
    if (own[0] !== undefined) found.set(column, own[0]);
  }
  const rewards = found.get("rewards");
  const hasLists = rewards !== undefined && (types[names.indexOf(rewards)] ?? "").startsWith("list");
  const form = hasLists ? "episodes" : "steps";
  if (wanted !== undefined && wanted !== hasLists)
    throw refusal(
      `inputReadEpisodes is ${wanted}, and the files have one row ${hasLists ? "an episode" : "a step"}. Leave it out, or set it to ${hasLists}`,
    );
  const missing = FORMS[form].needed.filter((column) => !found.has(column));
  if (missing.length > 0)
    throw refusal(
      `the columns ${missing.join(", ")} are missing: received ${names.join(", ")}. Files with one row ${hasLists ? "an episode" : "a step"} have ${FORMS[form].needed.join(", ")}`,
    );
  return { form, take: (row, column) => row[found.get(column) ?? ""] };
}

/** The steps of an episode, in the order of the files. */
interface OpenSteps {
  readonly epsId: string;
  readonly steps: {
    readonly row: number;
    readonly t: number;
    readonly obs: Float32Array;
    readonly newObs: unknown;
    readonly action: NumericArray;
    readonly reward: number;
    readonly logp: number;
    readonly end: number;
  }[];
}

class RowReader {
  readonly #built: BuiltModule;
  readonly #take: Take;
  readonly #isNormalized: boolean;
  readonly #refusal: Refusal;
  readonly #episodes: EncodedEpisode[] = [];
  readonly #open = new Map<string, OpenSteps>();
  #numbers = 0;

  constructor(built: BuiltModule, take: Take, { isNormalized, refusal }: { isNormalized: boolean; refusal: Refusal }) {
    this.#built = built;
    this.#take = take;
    this.#isNormalized = isNormalized;
    this.#refusal = refusal;
  }

  addEpisode(row: Row, index: number): void {
    const obs = this.#list(row, "obs", index);
    const actions = this.#list(row, "actions", index);
    const rewards = this.#list(row, "rewards", index);
    const given = this.#take(row, "actionLogp");
    const logp = given === undefined || given === null ? undefined : this.#list(row, "actionLogp", index);
    const steps = rewards.length;
    if (steps === 0) throw this.#bad(index, "rewards", "an episode has one step or more", rewards);
    for (const [column, list, length] of [
      ["obs", obs, steps + 1],
      ["actions", actions, steps],
      ["actionLogp", logp ?? { length: steps }, steps],
    ] as const)
      if (list.length !== length)
        throw this.#bad(index, column, `${length} values are needed for ${steps} rewards`, `${list.length} values`);
    const { distribution, encoder } = this.#built;
    const encoded = new Float32Array((steps + 1) * encoder.encoder.size);
    const drawn = distribution.actions.allocate(steps) as NumericArray;
    const width = drawn.length / steps;
    for (let step = 0; step <= steps; step += 1) encoded.set(this.#observation(obs[step], index, "obs"), step * encoder.encoder.size);
    for (let step = 0; step < steps; step += 1) drawn.set(this.#action(actions[step], index), step * width);
    this.#add({
      epsId: this.#id(row, index, "epsId"),
      obs: encoded,
      actions: drawn,
      rewards: Float64Array.from({ length: steps }, (_, step) => this.#number(rewards[step], index, "rewards")),
      actionLogp: Float32Array.from({ length: steps }, (_, step) => this.#logp(logp?.[step])),
      end: this.#end(row, index, ["terminated", "truncated"]),
    });
  }

  addStep(row: Row, index: number): void {
    const epsId = this.#id(row, index, "epsId");
    const agentId = this.#take(row, "agentId") == null ? "" : this.#id(row, index, "agentId");
    const key = JSON.stringify([epsId, agentId]);
    const open = this.#open.get(key) ?? { epsId, steps: [] };
    this.#open.set(key, open);
    const t = this.#take(row, "t");
    open.steps.push({
      row: index,
      t: t === undefined || t === null ? open.steps.length : this.#number(t, index, "t"),
      obs: this.#observation(this.#take(row, "obs"), index, "obs"),
      newObs: this.#take(row, "newObs"),
      action: this.#action(this.#take(row, "actions"), index),
      reward: this.#number(this.#take(row, "rewards"), index, "rewards"),
      logp: this.#logp(this.#take(row, "actionLogp")),
      end: this.#end(row, index, ["terminateds", "truncateds"]),
    });
    this.#count(this.#built.encoder.encoder.size);
  }

  /** All episodes, in the order of their first rows. */
  finish(): EncodedEpisode[] {
    for (const open of this.#open.values()) this.#close(open);
    this.#open.clear();
    return this.#episodes;
  }

  /** Joins the steps of an episode. */
  #close({ epsId, steps }: OpenSteps): void {
    steps.sort((a, b) => a.t - b.t);
    const { distribution, encoder } = this.#built;
    const { size } = encoder.encoder;
    const count = steps.length;
    const obs = new Float32Array((count + 1) * size);
    const actions = distribution.actions.allocate(count) as NumericArray;
    const width = actions.length / count;
    for (const [place, step] of steps.entries()) {
      const before = steps[place - 1];
      if (before !== undefined && step.t !== before.t + 1)
        throw this.#bad(step.row, "t", `steps of episode ${epsId} follow each other: ${before.t + 1} is needed behind ${before.t}`, step.t);
      if (before !== undefined && before.end !== SEQUENCE_END.CUT)
        throw this.#bad(
          before.row,
          "terminateds or truncateds",
          `episode ${epsId} ends with its last step, t ${(steps.at(-1) ?? step).t}`,
          true,
        );
      obs.set(step.obs, place * size);
      actions.set(step.action, place * width);
    }
    const last = steps[count - 1] as OpenSteps["steps"][number];
    obs.set(this.#observation(last.newObs, last.row, "newObs"), count * size);
    this.#add({
      epsId,
      obs,
      actions,
      rewards: Float64Array.from(steps, ({ reward }) => reward),
      actionLogp: Float32Array.from(steps, ({ logp }) => logp),
      end: last.end,
    });
  }

  #add(episode: EncodedEpisode): void {
    this.#episodes.push(episode);
    this.#count(episode.obs.length);
  }

  #count(numbers: number): void {
    this.#numbers += numbers;
    if (this.#numbers > INPUT_NUMBERS_MAX)
      throw this.#refusal(`the observations have more than ${INPUT_NUMBERS_MAX} numbers, which memory is to hold. Read fewer files`);
  }

  #observation(stored: unknown, row: number, column: "obs" | "newObs"): Float32Array {
    const { observationSpace, encoder } = this.#built;
    const value = this.#value(observationSpace, stored, { row, column });
    const encoded = new Float32Array(encoder.encoder.size);
    encoder.encoder.encode(value, encoded, 0);
    return encoded;
  }

  /** An action in the policy's range. */
  #action(stored: unknown, row: number): NumericArray {
    const { actionSpace, distribution } = this.#built;
    const isBox = !(actionSpace instanceof Discrete || actionSpace instanceof MultiDiscrete);
    const drawn = distribution.actions.allocate(1) as NumericArray;
    if (this.#isNormalized && isBox) {
      const numbers = fromStored(actionSpace, stored) as ArrayLike<unknown>;
      const isGood =
        typeof numbers === "object" && numbers !== null && numbers.length === drawn.length && Array.from(numbers).every(Number.isFinite);
      if (!isGood) throw this.#bad(row, "actions", `${drawn.length} finite numbers are needed`, stored);
      drawn.set(numbers as ArrayLike<number>);
      return drawn;
    }
    const layout = columnLayout(actionSpace);
    const given = layout.allocate(1);
    layout.write(given, 0, this.#value(actionSpace, stored, { row, column: "actions" }));
    distribution.fromEnvironment(given, drawn);
    return drawn;
  }

  #value(space: Space, stored: unknown, { row, column }: { row: number; column: ColumnName }): unknown {
    const value = fromStored(space, stored);
    const misfit = space.misfit(value);
    if (misfit === undefined) return value;
    throw this.#refusal(
      `row ${row}, column ${column}: the value is not in the ${column === "actions" ? "action" : "observation"} space: ${misfit}`,
    );
  }

  #number(value: unknown, row: number, column: ColumnName): number {
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number === "number" && Number.isFinite(number)) return number;
    throw this.#bad(row, column, "a finite number is needed", value);
  }

  #id(row: Row, index: number, column: "epsId" | "agentId"): string {
    const value = this.#take(row, column);
    if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return String(value);
    throw this.#bad(index, column, "an id, text or a number, is needed", value);
  }

  #logp(value: unknown): number {
    return typeof value === "number" ? value : Number.NaN;
  }

  #end(row: Row, index: number, [terminated, truncated]: readonly [ColumnName, ColumnName]): number {
    const flag = (column: ColumnName): boolean => {
      const value = this.#take(row, column);
      if (value === true || value === false) return value;
      if (value === 0 || value === 1 || value === 0n || value === 1n) return Number(value) === 1;
      throw this.#bad(index, column, "true or false is needed", value);
    };
    const [isTerminated, isTruncated] = [flag(terminated), flag(truncated)];
    // Where both are set, the world has ended.
    return isTerminated ? SEQUENCE_END.TERMINATED : isTruncated ? SEQUENCE_END.TRUNCATED : SEQUENCE_END.CUT;
  }

  #list(row: Row, column: ColumnName, index: number): ArrayLike<unknown> {
    const value = this.#take(row, column);
    if (Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView))) return value as unknown as ArrayLike<unknown>;
    throw this.#bad(index, column, "a list is needed", value);
  }

  #bad(row: number, column: string, reason: string, received: unknown): RLError {
    return this.#refusal(`row ${row}, column ${column}: ${reason}: received ${describeValue(received)}`);
  }
}
