/** The types of Python code: a call's arguments and results have the types that the user declares. */
import { python } from "../../src/index.ts";
import { exactly, type ObjectRef, type ObjectRefGenerator } from "./api.ts";

interface Model {
  fit(rows: number): Promise<number>;
  batches(size: number): Generator<string>;
  readonly hidden: number;
}

const double = python.task<(x: number) => number>("train.py", "double");
exactly<ObjectRef<number>>()(double.remote(1));
exactly<ObjectRef<number>>()(double.remote(double.remote(1)));
// @ts-expect-error: an argument of another type
double.remote("x");
exactly<[ObjectRef<string>, ObjectRef<number>]>()(
  python.task<() => [string, number]>("train.py", "pair").options({ numReturns: 2 }).remote(),
);
exactly<ObjectRefGenerator<number>>()(python.task<() => Generator<number>>("train.py", "stream", { numReturns: "streaming" }).remote());
// @ts-expect-error: several returns are asked for by options(), which knows their types
python.task<() => [string, number]>("train.py", "pair", { numReturns: 2 });

const PyModel = python.actor<Model, [layers: number]>("models", "Model");
const model = PyModel.remote(3);
exactly<ObjectRef<number>>()(model.fit.remote(5));
exactly<ObjectRefGenerator<string>>()(model.batches.remote(5));
// @ts-expect-error: a field is no method
void model.hidden;
// @ts-expect-error: its constructor takes a number
PyModel.remote("x");
