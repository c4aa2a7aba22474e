/**
 * A bracket of HyperBand: a group of trials that run to a milestone together, after which the best continue to the next milestone.
 *
 * A bracket keeps its trials, the last progress and score of each, and its own progress. It decides nothing about other
 * brackets; `HyperBandScheduler` owns them. All numbers are rounded where Ray rounds them.
 */

interface BracketShape {
  /** Trials that it takes at most. */
  readonly trialsMax: number;
  /** First milestone of the bracket. */
  readonly firstMilestone: number;
  /** Last milestone of the bracket. */
  readonly maxT: number;
  readonly reductionFactor: number;
  /** How often it is halved. */
  readonly halvings: number;
  readonly stopLastTrials: boolean;
}

/** Progress and score of a trial at its last result. */
interface Standing {
  time: number;
  score: number;
}

export interface SavedBracket {
  readonly shape: BracketShape;
  readonly size: number;
  readonly milestone: number;
  readonly halvingsLeft: number;
  readonly progress: number;
  readonly wasProcessed: boolean;
  readonly trials: readonly [string, Standing | null][];
  readonly resuming: readonly string[];
}

export class HyperBandBracket {
  readonly shape: BracketShape;
  readonly #trials = new Map<string, Standing | undefined>();
  /** Paused trials that have to continue. */
  readonly #resuming = new Set<string>();
  #size: number;
  #milestone: number;
  #halvingsLeft: number;
  #progress = 0;
  /** Once it was halved, the end of a trial does not halve it again: the next result does. */
  wasProcessed = false;

  constructor(shape: BracketShape) {
    this.shape = shape;
    this.#size = shape.trialsMax;
    this.#milestone = shape.firstMilestone;
    this.#halvingsLeft = shape.halvings;
  }

  static restored(saved: SavedBracket): HyperBandBracket {
    const bracket = new HyperBandBracket(saved.shape);
    bracket.#size = saved.size;
    bracket.#milestone = saved.milestone;
    bracket.#halvingsLeft = saved.halvingsLeft;
    bracket.#progress = saved.progress;
    bracket.wasProcessed = saved.wasProcessed;
    for (const [trialId, standing] of saved.trials) bracket.#trials.set(trialId, standing === null ? undefined : { ...standing });
    for (const trialId of saved.resuming) bracket.#resuming.add(trialId);
    return bracket;
  }

  save(): SavedBracket {
    return {
      shape: this.shape,
      size: this.#size,
      milestone: this.#milestone,
      halvingsLeft: this.#halvingsLeft,
      progress: this.#progress,
      wasProcessed: this.wasProcessed,
      trials: [...this.#trials].map(([trialId, standing]) => [trialId, standing === undefined ? null : { ...standing }]),
      resuming: [...this.#resuming],
    };
  }

  get milestone(): number {
    return this.#milestone;
  }

  get trialIds(): Iterable<string> {
    return this.#trials.keys();
  }

  has(trialId: string): boolean {
    return this.#trials.has(trialId);
  }

  isResuming(trialId: string): boolean {
    return this.#resuming.has(trialId);
  }

  resume(trialId: string): void {
    this.#resuming.add(trialId);
  }

  add(trialId: string): void {
    this.#trials.set(trialId, undefined);
  }

  remove(trialId: string): void {
    this.#trials.delete(trialId);
    this.#resuming.delete(trialId);
  }

  update(trialId: string, standing: Standing): void {
    this.#progress += standing.time - this.#timeOf(trialId);
    this.#trials.set(trialId, standing);
    this.#resuming.delete(trialId);
  }

  isFull(): boolean {
    return this.#trials.size === this.#size;
  }

  /** Whether all its trials have reached the milestone. */
  isAtMilestone(): boolean {
    return [...this.#trials.keys()].every((trialId) => this.#timeOf(trialId) >= this.#milestone);
  }

  isFinished(): boolean {
    return this.shape.stopLastTrials && this.#halvingsLeft === 0 && this.isAtMilestone();
  }

  /** Whether a trial runs on without a decision. */
  goesOn(trialId: string): boolean {
    return (!this.shape.stopLastTrials && this.#halvingsLeft === 0) || this.#timeOf(trialId) < this.#milestone;
  }

  /** Splits the trials into those that continue and those that end, and sets the next milestone. */
  halve(): { good: string[]; bad: string[] } {
    if (this.#halvingsLeft === 0) return { good: [...this.#trials.keys()], bad: [] };
    this.#halvingsLeft -= 1;
    this.#size = Math.ceil(this.#size / this.shape.reductionFactor);
    this.#milestone = Math.trunc(Math.min(this.#milestone * this.shape.reductionFactor, this.shape.maxT));
    const score = (trialId: string) => this.#trials.get(trialId)?.score ?? Number.NaN;
    const ranked = [...this.#trials.keys()].sort((first, second) => compareScores(score(first), score(second)));
    const badCount = Math.max(0, ranked.length - this.#size);
    return { bad: ranked.slice(0, badCount), good: ranked.slice(badCount) };
  }

  /** From 0 to 1. */
  completion(): number {
    return this.isFinished() ? 1 : Math.min(this.#progress / totalWork(this.shape), 1);
  }

  #timeOf(trialId: string): number {
    return this.#trials.get(trialId)?.time ?? 0;
  }
}

/** NaN is worse than any number: a trial without a score does not push out one that has a score. */
function compareScores(first: number, second: number): number {
  if (Number.isNaN(first)) return Number.isNaN(second) ? 0 : -1;
  return Number.isNaN(second) ? 1 : first - second;
}

/** The sum of all trials' work in a bracket, if none ends early. */
function totalWork({ trialsMax, firstMilestone, maxT, reductionFactor, halvings }: BracketShape): number {
  let work = 0;
  let trials = trialsMax;
  let step = firstMilestone;
  for (let halving = 0; halving <= halvings; halving += 1) {
    work += Math.trunc(trials) * Math.trunc(step);
    trials = Math.ceil(trials / reductionFactor);
    step = Math.trunc(Math.min(step * reductionFactor, maxT - firstMilestone));
  }
  return work;
}
