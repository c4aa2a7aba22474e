/**
 * The operators that pass on the blocks of several inputs unchanged: one input after the other, or mixed by weights.
 *
 * The choice of the next input depends only on the blocks given so far, never on the inputs' speed, so the order is the same each time. Blocks of other inputs
 * wait here and count as held.
 */
import { Fifo } from "../../../core/internal.ts";
import { DriverOperator } from "./driver-operators.ts";
import type { BlockRef } from "./operator.ts";

interface Input {
  readonly waiting: Fifo<BlockRef>;
  hasEnded: boolean;
}

/** Takes blocks of its inputs in turn. */
abstract class SeveralInputs extends DriverOperator {
  protected readonly inputs: readonly Input[];

  constructor(name: string, count: number) {
    super(name);
    this.inputs = Array.from({ length: count }, () => ({ waiting: new Fifo<BlockRef>(), hasEnded: false }));
  }

  /** The input that the next block comes from, or whose end is looked for; undefined where no block comes any more. */
  protected abstract readonly turn: number | undefined;

  /** Called after a block was given. */
  protected onGiven(_input: number, _block: BlockRef): void {}

  override get heldBytes(): number {
    return (
      super.heldBytes + this.inputs.reduce((sum, { waiting }) => sum + [...waiting].reduce((bytes, block) => bytes + block.sizeBytes, 0), 0)
    );
  }

  override get isSatisfied(): boolean {
    return this.isStopped || this.turn === undefined;
  }

  get isDone(): boolean {
    return this.isStopped || (this.turn === undefined && this.outputCount === 0);
  }

  add(block: BlockRef, input: number): void {
    (this.inputs[input] as Input).waiting.push(block);
    this.#advance();
  }

  endInput(input: number): void {
    (this.inputs[input] as Input).hasEnded = true;
    this.#advance();
  }

  override needs(input: number): boolean {
    return input === this.turn;
  }

  override stop(): void {
    super.stop();
    this.#drop();
  }

  protected isExhausted(input: number): boolean {
    const { waiting, hasEnded } = this.inputs[input] as Input;
    return hasEnded && waiting.size === 0;
  }

  #advance(): void {
    for (let { turn } = this; turn !== undefined; { turn } = this) {
      const block = (this.inputs[turn] as Input).waiting.shift();
      if (block === undefined) return;
      this.onGiven(turn, block);
      this.give(block);
    }
    this.#drop();
  }

  #drop(): void {
    for (const { waiting } of this.inputs) for (let block = waiting.shift(); block !== undefined; block = waiting.shift()) block.release();
  }
}

/** The rows of the first input, then those of the second, and so on. */
export class UnionOperator extends SeveralInputs {
  protected get turn(): number | undefined {
    const turn = this.inputs.findIndex((_, input) => !this.isExhausted(input));
    return turn < 0 ? undefined : turn;
  }
}

/** How inputs are mixed. */
export interface Mix {
  /** The weight of each input's rows beside the others'. */
  readonly weights: readonly number[];
  /** Ends with the first input that is at its end when its turn comes, or with the last one. */
  readonly stop: "first" | "all";
}

/** Blocks of the input that is furthest behind its weight, the first of several. */
export class MixOperator extends SeveralInputs {
  readonly #mix: Mix;
  readonly #rows: number[];

  constructor(name: string, mix: Mix) {
    super(name, mix.weights.length);
    this.#mix = mix;
    this.#rows = mix.weights.map(() => 0);
  }

  protected get turn(): number | undefined {
    const { weights, stop } = this.#mix;
    let turn: number | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (let input = 0; input < weights.length; input += 1) {
      const share = (this.#rows[input] as number) / (weights[input] as number);
      if (share >= least || (stop === "all" && this.isExhausted(input))) continue;
      turn = input;
      least = share;
    }
    return turn === undefined || this.isExhausted(turn) ? undefined : turn;
  }

  protected override onGiven(input: number, block: BlockRef): void {
    this.#rows[input] = (this.#rows[input] as number) + block.rowCount;
  }
}
