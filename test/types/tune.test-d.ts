/** Types of experiments: configurations from spaces, and results from the return types of trainables. */
import {
  choice,
  gridSearch,
  loguniform,
  randint,
  report,
  sampleFrom,
  Tuner,
  uniform,
  withParameters,
  withResources,
} from "../../src/tune/index.ts";
import { python } from "../../src/python/python.ts";
import { exactly } from "./api.ts";

const space = {
  lr: loguniform(1e-4, 1),
  layers: choice([1, 2, 3]),
  act: choice(["relu", "tanh"]),
  nested: { list: [uniform(0, 1), randint(1, 4)], fixed: "text" },
  model: choice([{ kind: "a", x: uniform(0, 1) }, { kind: "b" }]),
  grid: gridSearch([true, false]),
  half: sampleFrom((config: { lr: number }) => config.lr / 2),
};
interface Config {
  lr: number;
  layers: 1 | 2 | 3;
  act: "relu" | "tanh";
  nested: { list: number[]; fixed: string };
  model: { kind: "a"; x: number } | { kind: "b" };
  grid: boolean;
  half: number;
}

const reporting = new Tuner(
  async (config) => {
    exactly<1 | 2 | 3>()(config.layers);
    exactly<"relu" | "tanh">()(config.act);
    const whole: Config = config;
    if (config.model.kind === "a") exactly<number>()(config.model.x);
    // @ts-expect-error: there is no such parameter
    config.depth;
    await report({ loss: whole.lr });
    // @ts-expect-error: JSON has no form for it
    await report({ loss: () => 1 });
  },
  { paramSpace: space, tuneConfig: { metric: "loss", mode: "min" } },
);
const best = (await reporting.fit()).getBestResult();
exactly<"relu" | "tanh">()(best.config.act);
exactly<number>()(best.config.half);
best.metrics?.loss;

const returning = await new Tuner((config) => ({ score: config.lr, label: "x" }), { paramSpace: space }).fit();
exactly<number | undefined>()(returning.at(0)?.metrics?.score);
exactly<number | undefined>()(returning.at(0)?.metrics?.trainingIteration);
// @ts-expect-error: it returns no such metric
returning.at(0)?.metrics?.lost;

const yielding = await new Tuner(
  async function* (config) {
    yield { loss: config.lr };
  },
  { paramSpace: space },
).fit();
exactly<number | undefined>()(yielding.at(0)?.metrics?.loss);

class Steps {
  setup(_config: { x: number }) {}
  step() {
    return { at: 1 };
  }
}
const stepped = await new Tuner(Steps, { paramSpace: { x: uniform(0, 1) } }).fit();
exactly<number | undefined>()(stepped.at(0)?.metrics?.at);

const typed = python.task<(config: { x: number }) => { loss: number }>("train.py", "train");
new Tuner(typed, { paramSpace: { x: uniform(0, 1) } });
const ofPython = python.actor<{ step(): { loss: number } }>("train.py", "Model");
const pythonSteps = await new Tuner(ofPython, { paramSpace: { x: uniform(0, 1) } }).fit();
exactly<number | undefined>()(pythonSteps.at(0)?.metrics?.loss);
new Tuner(withResources(ofPython, { numCpus: 2 }), { paramSpace: { x: uniform(0, 1) } });

const withData = withParameters((config: { x: number }, { data }: { data: Float64Array }) => ({ y: config.x + data.length }), {
  data: new Float64Array(3),
});
new Tuner(
  withResources(withData, (config) => ({ numCpus: config.x > 1 ? 2 : 1 })),
  { paramSpace: { x: uniform(0, 2) } },
);
// @ts-expect-error: the function takes another parameter
withParameters((config: { x: number }, { data }: { data: Float64Array }) => ({ y: config.x + data.length }), { other: 1 });
// @ts-expect-error: there is no such option
new Tuner(() => ({ a: 1 }), { space: {} });
// @ts-expect-error: there is no such mode
new Tuner(() => ({ a: 1 }), { tuneConfig: { metric: "a", mode: "most" } });
// @ts-expect-error: the function needs a number
new Tuner((config: { x: number }) => ({ a: config.x }), { paramSpace: { x: choice(["text"]) } });
