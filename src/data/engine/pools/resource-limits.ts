/**
 * The limited resources of one pipeline: the amounts held by its tasks and actors, and the step that may have more.
 *
 * Pure: operators report begins and ends, and the executor asks each step in turn, the last one first. A step that lacks a resource reserves it against the
 * steps asked later, so small tasks of a read never hold back a large task behind them. A task that stands still gives its CPUs back, as in the core, and keeps
 * all else until its end. An actor keeps its resources for life. So pools leave room for the largest task of the pipeline, and a task can always go on.
 */

/** Amounts of resources by name: `CPU`, `GPU`, `memory`, and custom ones. */
export type Amounts = Readonly<Record<string, number>>;

/** The held part of a task's resources: everything while it works, all but its CPUs while it stands still, nothing before and after. */
export type Hold = "everything" | "rest" | "nothing";

/** Amounts are whole numbers of this part of one, so that sums are exact. The same as the core's. */
const STEPS = 10_000;

function stepsOf(amounts: Amounts, name: string): number {
  return Math.round((amounts[name] ?? 0) * STEPS);
}

export class ResourceLimits {
  #limits: Amounts;
  readonly #forTasks: Amounts;
  readonly #names: readonly string[];
  readonly #held = new Map<string, number>();
  readonly #heldByActors = new Map<string, number>();
  readonly #lacking = new Set<string>();

  /** @param forTasks - the amount of each resource that the largest task needs */
  constructor(limits: Amounts, forTasks: Amounts) {
    this.#limits = limits;
    this.#forTasks = forTasks;
    this.#names = Object.keys(limits);
  }

  /** Sets new limits of the same resources. Amounts beyond a limit come back as tasks and actors end. */
  fit(limits: Amounts): void {
    this.#limits = limits;
  }

  /** The claim of one step. @param amounts - of a task, or of an actor */
  step(amounts: Amounts): StepClaim {
    return new StepClaim(this, amounts);
  }

  /** The steps are asked from now on in their order. */
  beginRound(): void {
    this.#lacking.clear();
  }

  /** Tells whether there is room for these amounts. Missing amounts are reserved against steps that ask later in the round. */
  admits(amounts: Amounts): boolean {
    const asked = this.#names.filter((name) => stepsOf(amounts, name) > 0);
    const isKept = asked.some((name) => this.#lacking.has(name));
    const missing = asked.filter((name) => this.#heldOf(name) + stepsOf(amounts, name) > stepsOf(this.#limits, name));
    for (const name of missing) this.#lacking.add(name);
    return !isKept && missing.length === 0;
  }

  /** The same for an actor, which leaves room for a task. One that could never begin keeps nothing from others. */
  admitsActor(amounts: Amounts): boolean {
    const leavesRoom = this.#names.every((name) => {
      const wanted = stepsOf(amounts, name);
      return wanted === 0 || (this.#heldByActors.get(name) ?? 0) + wanted <= stepsOf(this.#limits, name) - stepsOf(this.#forTasks, name);
    });
    return leavesRoom && this.admits(amounts);
  }

  /** Whether somebody has asked in this round for more than there is of one of these. */
  isLacking(amounts: Amounts): boolean {
    return this.#names.some((name) => stepsOf(amounts, name) > 0 && this.#lacking.has(name));
  }

  /** The amount of a resource that is held now. */
  held(name: string): number {
    return this.#heldOf(name) / STEPS;
  }

  take(amounts: Amounts): void {
    this.#add(this.#held, amounts, 1);
  }

  give(amounts: Amounts): void {
    this.#add(this.#held, amounts, -1);
  }

  takeForActor(amounts: Amounts): void {
    this.take(amounts);
    this.#add(this.#heldByActors, amounts, 1);
  }

  giveOfActor(amounts: Amounts): void {
    this.give(amounts);
    this.#add(this.#heldByActors, amounts, -1);
  }

  #heldOf(name: string): number {
    return this.#held.get(name) ?? 0;
  }

  #add(held: Map<string, number>, amounts: Amounts, sign: 1 | -1): void {
    for (const name of this.#names) held.set(name, (held.get(name) ?? 0) + sign * stepsOf(amounts, name));
  }
}

/** The claim of one step: what its tasks or actors ask for, and whether the limits of the pipeline leave it. */
export class StepClaim {
  readonly #limits: ResourceLimits;
  readonly #amounts: Amounts;
  readonly #rest: Amounts;
  readonly #cpus: Amounts;

  constructor(limits: ResourceLimits, amounts: Amounts) {
    const { CPU = 0, ...rest } = amounts;
    this.#limits = limits;
    this.#amounts = amounts;
    this.#rest = rest;
    this.#cpus = { CPU };
  }

  /** Whether a task may begin. */
  admitsTask(): boolean {
    return this.#limits.admits(this.#amounts);
  }

  /** Whether a task that has begun may be asked for more. One that works already is not where a step behind it lacks CPUs, so that it comes to rest; one that has ended needs none. */
  admitsMore(hold: Hold): boolean {
    if (hold === "nothing") return true;
    return hold === "rest" ? this.#limits.admits(this.#cpus) : !this.#limits.isLacking(this.#cpus);
  }

  /** Changes the held part of a task's resources. */
  change(from: Hold, to: Hold): void {
    if (from === to) return;
    this.#limits.give(this.#heldBy(from));
    this.#limits.take(this.#heldBy(to));
  }

  /** Whether tasks of this step that stand still keep what another one was refused. */
  get keepsWhatIsLacking(): boolean {
    return this.#limits.isLacking(this.#rest);
  }

  /** Tells whether one more actor may be made. @param numCpus - CPUs of an actor, which may be less than the step asked for */
  admitsActor(numCpus: number): boolean {
    return this.#limits.admitsActor({ ...this.#rest, CPU: numCpus });
  }

  takeForActor(numCpus: number): void {
    this.#limits.takeForActor({ ...this.#rest, CPU: numCpus });
  }

  giveOfActor(numCpus: number): void {
    this.#limits.giveOfActor({ ...this.#rest, CPU: numCpus });
  }

  #heldBy(hold: Hold): Amounts {
    if (hold === "nothing") return {};
    return hold === "everything" ? this.#amounts : this.#rest;
  }
}
