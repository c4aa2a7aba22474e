/** What the operators of a run have done, as `stats()` gives it. */
import type { Operator, OperatorStatistics } from "./engine/operator.ts";

/** One operator's part of a run. */
export interface OperatorReport extends Readonly<OperatorStatistics> {
  readonly name: string;
}

/** The last run of a dataset. It prints itself. */
export class DataStatistics {
  /** Producers before consumers. */
  readonly operators: readonly OperatorReport[];
  /** From the first block that was asked for to the end of the run, or until now. */
  readonly durationMs: number;

  constructor(operators: readonly Operator[], durationMs: number) {
    this.operators = operators.map(({ name, statistics }) => ({ name, ...statistics }));
    this.durationMs = durationMs;
  }

  toString(): string {
    const lines = this.operators.map(
      ({ name, tasks, blocks, rows, bytes }) =>
        `${name}: ${rows} rows in ${blocks} blocks, ${(bytes / 2 ** 20).toFixed(1)} MiB, ${tasks} tasks`,
    );
    return [...lines, `${(this.durationMs / 1000).toFixed(2)} s`].join("\n");
  }
}

Object.defineProperty(DataStatistics.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value(this: DataStatistics): string {
    return this.toString();
  },
});
