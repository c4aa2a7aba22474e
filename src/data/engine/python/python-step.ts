/** A step of Python in a plan, as plain data. `python-batches.ts` runs it. */
import type { PythonCode } from "../../../core/internal.ts";

/** Formats of a Python function's batches: a dict of NumPy arrays, a `pyarrow.Table`, or a `pandas.DataFrame`. */
export const PYTHON_FORMATS = ["numpy", "arrow", "pandas"] as const;
export type PythonBatchFormat = (typeof PYTHON_FORMATS)[number];

/** Arguments by their names. */
export type NamedArguments = Readonly<Record<string, unknown>>;

export interface PythonBatches {
  readonly kind: "pythonBatches";
  readonly name: string;
  readonly code: PythonCode;
  readonly batchFormat: PythonBatchFormat;
  /** Undefined: each block is a batch. */
  readonly batchSize: number | undefined;
  /** Arguments of the function behind the batch. */
  readonly fnArgs: readonly unknown[];
  readonly fnKwargs: NamedArguments;
  /** Named arguments of the constructor; positional ones are the pool's `constructorArgs`. */
  readonly constructorKwargs: NamedArguments;
}
