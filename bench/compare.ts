/**
 * Runs figures on one side or both and turns the rounds into results. The rounds alternate, Shoal then Ray then Shoal, each in separate
 * processes with a separate runtime. So other load on the machine meets both sides, and neither idles beside the other. The value of a side
 * is the median over the rounds, and that of a round the median over the windows. A side that fails leaves the figure without a value and
 * the reason in the result; the other figures still run.
 */
import type { Details, Figure, Plan } from "./figure.ts";
import { median } from "./statistics.ts";
import type { Subject } from "./subject.ts";
import { ratioOf, type Verdict, verdictOf } from "./verdict.ts";

export interface Result {
  readonly figure: Figure;
  readonly shoal: number | null;
  readonly ray: number | null;
  readonly ratio: number | null;
  readonly verdict: Verdict;
  readonly shoalRounds: readonly number[];
  readonly rayRounds: readonly number[];
  readonly shoalDetails: Details;
  readonly rayDetails: Details;
  /** A sentence and the program's last output, for each round that failed. */
  readonly failures: readonly string[];
}

interface CompareOptions {
  readonly shoal: Subject;
  readonly ray: Subject | null;
  readonly plan: Plan;
  readonly rounds: number;
  onResult(result: Result): void;
}

interface SideRecord {
  readonly subject: Subject;
  readonly rounds: number[];
  details: Details;
  failure: string | null;
}

export async function compare(figures: readonly Figure[], options: CompareOptions): Promise<Result[]> {
  const results: Result[] = [];
  for (const figure of figures) {
    const result = await compareFigure(figure, options);
    results.push(result);
    options.onResult(result);
  }
  return results;
}

async function compareFigure(figure: Figure, options: CompareOptions): Promise<Result> {
  const shoal = newRecord(options.shoal);
  const ray = options.ray === null ? null : newRecord(options.ray);
  const roundsCount = Math.min(options.rounds, figure.roundsMax ?? options.rounds);
  for (let round = 0; round < roundsCount; round++) {
    await runRound(figure, shoal, options.plan);
    if (ray !== null) await runRound(figure, ray, options.plan);
  }
  const values = { shoal: valueOf(shoal), ray: ray === null ? null : valueOf(ray) };
  return {
    figure,
    ...values,
    ratio: ratioOf(values, figure.higherIsBetter),
    verdict: verdictOf(values, figure),
    shoalRounds: shoal.rounds,
    rayRounds: ray?.rounds ?? [],
    shoalDetails: shoal.details,
    rayDetails: ray?.details ?? {},
    failures: [shoal.failure, ray?.failure].filter((failure) => typeof failure === "string"),
  };
}

function newRecord(subject: Subject): SideRecord {
  return { subject, rounds: [], details: {}, failure: null };
}

/** A side that has failed once is not run again: its next round would cost a time limit and tell the same. */
async function runRound(figure: Figure, record: SideRecord, plan: Plan): Promise<void> {
  if (record.failure !== null) return;
  try {
    const measurement =
      figure.where === "driver" ? await record.subject.runRound(figure, plan) : await figure.observe(record.subject, plan);
    record.rounds.push(median(measurement.samples));
    record.details = { ...record.details, ...measurement.details };
  } catch (error) {
    record.failure = `${figure.name} on ${record.subject.side}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** No value when any round failed, also where others went well: a figure that crashes now and then is not measured. */
function valueOf(record: SideRecord): number | null {
  return record.failure === null ? median(record.rounds) : null;
}
