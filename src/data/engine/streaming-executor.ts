/**
 * The executor: it moves blocks from operator to operator and decides which operator may work next, so that a pipeline streams within the budget of memory and its limits of resources.
 *
 * All happens in `#advance`, after anything has changed. Blocks move down first. Then work begins where it is nearest to the consumer, as that empties the pipeline. With
 * the budget used up nothing begins and no task is pulled, until the consumer has taken a block. Only where nothing is under way and the consumer waits, one operator goes on
 * all the same. So a consumer that pauses stops every producer, an endless one too, and one that goes on is never stuck.
 *
 * Limits of resources are never passed. Steps are asked in the same order: what one of them lacks, those before it do not get (`resource-limits.ts`).
 */
import type { MemoryBudget } from "./pools/budget.ts";
import type { BlockRef, Operator, OperatorEvents } from "./operators/operator.ts";
import type { ResourceLimits } from "./pools/resource-limits.ts";

/** An operator and where its blocks go. Producers come before consumers in the list; the last one is the pipeline's output. */
export interface Stage {
  readonly operator: Operator;
  /** The stages that it takes blocks from, by input. */
  readonly inputs: readonly number[];
}

interface ExecutorOptions {
  /** The memory of all running pipelines. */
  readonly budget: MemoryBudget;
  /** The pipeline adds blocks as long as all pipelines together hold less. */
  readonly limitBytes: number;
  /** Limits of resources. Default: none. */
  readonly limits?: ResourceLimits | undefined;
}

interface Waiter {
  resolve(block: BlockRef | undefined): void;
  reject(error: unknown): void;
}

export class StreamingExecutor implements OperatorEvents {
  readonly #stages: readonly Stage[];
  readonly #budget: MemoryBudget;
  readonly #limitBytes: number;
  readonly #limits: ResourceLimits | undefined;
  readonly #endedInputs = new Set<string>();
  #waiter: Waiter | undefined;
  #failure: { readonly error: unknown } | undefined;
  #isOpen = false;
  #isStopped = false;
  #isScheduled = false;

  /** @param build - makes the stages; its argument takes the events of their operators */
  constructor({ budget, limitBytes, limits }: ExecutorOptions, build: (events: OperatorEvents) => readonly Stage[]) {
    this.#budget = budget;
    this.#limitBytes = limitBytes;
    this.#limits = limits;
    this.#stages = build(this);
  }

  get stages(): readonly Stage[] {
    return this.#stages;
  }

  /** The next block of the output, undefined at its end. One call at a time. */
  next(): Promise<BlockRef | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#open();
      this.#advance();
    });
  }

  #open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    for (const { operator } of this.#stages) operator.open?.();
  }

  /** Ends all work and drops all blocks. Blocks that were taken are their takers'. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const { operator } of this.#stages) operator.stop();
    this.#budget.report(this, 0);
    this.#waiter?.resolve(undefined);
    this.#waiter = undefined;
  }

  /** Stops the pipeline, and resolves when all its work has ended. */
  async close(): Promise<void> {
    this.stop();
    await Promise.all(this.#stages.map(async ({ operator }) => operator.ended?.()));
  }

  onChange(): void {
    // Several changes of one turn of the event loop are looked at together.
    if (this.#isScheduled || this.#isStopped) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#advance();
    });
  }

  onFailure(error: unknown): void {
    if (this.#isStopped) return;
    this.#failure ??= { error };
    this.onChange();
  }

  #advance(): void {
    if (this.#failure !== undefined) {
      this.#fail(this.#failure.error);
      return;
    }
    if (this.#isStopped) {
      this.#waiter?.resolve(undefined);
      this.#waiter = undefined;
      return;
    }
    try {
      do {
        this.#moveBlocks();
        this.#report();
        // New work may have failed at once, and then the pipeline has not ended in order.
      } while (this.#begin() && this.#failure === undefined && !this.#isStopped);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Ends all work at once, and throws to the consumer now or when it asks next. */
  #fail(error: unknown): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.stop();
    this.#failure = waiter === undefined ? { error } : undefined;
    waiter?.reject(error);
  }

  /** Moves outputs to the next operator and the first output of the last one to the consumer. */
  #moveBlocks(): void {
    this.#stages.forEach(({ operator, inputs }, index) => {
      inputs.forEach((from, input) => {
        const source = (this.#stages[from] as Stage).operator;
        if (operator.isSatisfied) source.stop();
        for (let block = source.take(); block !== undefined; block = source.take()) operator.add(block, input);
        const key = `${index}:${input}`;
        if (!source.isDone || this.#endedInputs.has(key)) return;
        this.#endedInputs.add(key);
        operator.endInput(input);
      });
    });
    const waiter = this.#waiter;
    if (waiter === undefined) return;
    const last = (this.#stages.at(-1) as Stage).operator;
    const block = last.take();
    if (block === undefined && !last.isDone) return;
    this.#waiter = undefined;
    if (block === undefined) this.stop();
    waiter.resolve(block);
  }

  #report(): void {
    this.#budget.report(
      this,
      this.#stages.reduce((sum, { operator }) => sum + operator.heldBytes, 0),
    );
  }

  get #hasRoom(): boolean {
    return this.#budget.hasRoom(this.#limitBytes);
  }

  /** Begins what may begin. Answers whether blocks may be there at once. */
  #begin(): boolean {
    if (this.#isStopped) return false;
    let hasBegun = false;
    const needed = this.#neededStages();
    this.#limits?.beginRound();
    for (const i of this.#inTurn(needed)) {
      const { operator } = this.#stages[i] as Stage;
      // Work that has begun goes before work that has not: with a limit there may be room for one of them.
      if (this.#hasRoom) operator.pull("all");
      else if (this.#isStarved(i, needed)) operator.pull("next");
      while (this.#hasRoom && mayStart(operator)) {
        operator.start();
        this.#report();
        hasBegun = true;
      }
    }
    if (hasBegun) return true;
    return this.#isStandingStill(needed) && this.#goBeyond(needed);
  }

  /** Tells whether the operators behind this one have no input, so that its next block justifies going beyond the budget. */
  #isStarved(index: number, needed: ReadonlySet<number>): boolean {
    if (this.#waiter === undefined || !needed.has(index)) return false;
    return this.#stages.every(({ operator }, i) => i <= index || !needed.has(i) || (operator.runningCount === 0 && !operator.canStart()));
  }

  #isStandingStill(needed: ReadonlySet<number>): boolean {
    return this.#waiter !== undefined && this.#stages.every(({ operator }, i) => !needed.has(i) || operator.runningCount === 0);
  }

  /** Returns the stages on which the next block of the output depends. Later inputs of a union are excluded and stay within the budget. */
  #neededStages(): ReadonlySet<number> {
    const needed = new Set([this.#stages.length - 1]);
    for (let i = this.#stages.length - 1; i >= 0; i -= 1) {
      const { operator, inputs } = this.#stages[i] as Stage;
      if (needed.has(i)) inputs.forEach((from, input) => operator.needs(input) && needed.add(from));
    }
    return needed;
  }

  /** The stages in the order in which they may work: the last one first, and those that the next block depends on before all others. */
  #inTurn(needed: ReadonlySet<number>): readonly number[] {
    const stages = [...this.#stages.keys()].toReversed();
    return needed.size === stages.length ? stages : [...stages.filter((i) => needed.has(i)), ...stages.filter((i) => !needed.has(i))];
  }

  /** Takes a step beyond the budget, as near to the consumer as there is one. If that step lacks a resource which a stage keeps that nobody needs now, a task of this stage goes on to its end. */
  #goBeyond(needed: ReadonlySet<number>): boolean {
    this.#limits?.beginRound();
    for (const i of this.#inTurn(needed)) {
      const { operator } = this.#stages[i] as Stage;
      if (!needed.has(i) && operator.claim?.keepsWhatIsLacking !== true) continue;
      if (operator.pull("next")) return true;
      if (!needed.has(i) || !mayStart(operator)) continue;
      operator.start();
      return true;
    }
    return false;
  }
}

function mayStart(operator: Operator): boolean {
  return operator.canStart() && operator.claim?.admitsTask() !== false;
}
