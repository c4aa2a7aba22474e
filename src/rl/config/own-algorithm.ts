/** The parts from which algorithms of users make their tables of `training()`. */
import { number, type Option, type OptionSet } from "../../core/internal.ts";
import { schedule } from "../learners/schedule.ts";
import { isAtLeastZero, TRAINING_OPTIONS, upToOne, type ValuesOf } from "./option-tables.ts";

/** A table of options: the name that errors show, and the options by their names. */
export type TrainingTable<Training extends object> = OptionSet<Training>;

/** The values of a table. */
export type TrainingValues<Table> = ValuesOf<Table>;

/** The options that learners of whole batches need. Spread them into the table, and replace those with other defaults. */
export const onPolicyOptions: typeof TRAINING_OPTIONS & {
  readonly lambda: Option<number>;
  readonly entropyCoeff: (typeof TRAINING_OPTIONS)["lr"];
} = {
  ...TRAINING_OPTIONS,
  lambda: upToOne(1),
  entropyCoeff: schedule("a number from 0", 0, isAtLeastZero),
};

/** An option that takes a number within bounds, which both are allowed. Default of the bounds: none. */
export function numberOption(
  fallback: number,
  { min = -Infinity, max = Infinity }: { readonly min?: number; readonly max?: number } = {},
): Option<number> {
  return number(`a number from ${min} to ${max} is needed`, fallback, (value) => value >= min && value <= max);
}
