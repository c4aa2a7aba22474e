/** Workers that are forked from a process with their imports: quick to start, unlike each other, and with the ends of ordinary ones. */
import { type ActorHandle, cancel, init, python, ready, shutdown, TaskCancelledError, terminate } from "shoal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { scientificPython, unless } from "./python-places.ts";
import { failureOf, isAlive, until } from "./session.ts";

const found = scientificPython();
const problem = process.platform !== "linux" ? "only on Linux" : "problem" in found ? found.problem : undefined;
const runtimeEnv = { python: "venv" in found ? found.venv : "", pythonPreload: ["numpy"] };
const FORKED = new URL("python/forked.py", import.meta.url);

interface Facts {
  pid: number;
  parent: number;
  random: number[];
  total: number;
}
interface Holder {
  facts(): Facts;
  say(): void;
  crash(): void;
}

const PyHolder = python.actor<Holder, []>(FORKED, "Holder", { runtimeEnv, numCpus: 0 });
/** How long one of them takes to be ready. */
async function timeOf(holderClass: typeof PyHolder, actors: ActorHandle<Holder>[]): Promise<number> {
  const start = performance.now();
  const holder = holderClass.remote();
  await ready(holder);
  actors.push(holder);
  return performance.now() - start;
}

const facts = python.task<() => Facts>(FORKED, "facts", { runtimeEnv });

describe.skipIf(problem !== undefined)(`forked workers${unless(problem)}`, () => {
  beforeAll(() => init({ numCpus: 2, logToDriver: false }));
  afterAll(() => shutdown());

  test("have one parent, their own seeds, and start in milliseconds", async () => {
    const first = await facts.remote();
    const times: number[] = [];
    const actors: ActorHandle<Holder>[] = [];
    for (let round = 0; round < 8; round += 1) times.push(await timeOf(PyHolder, actors));
    const all = await Promise.all(actors.map(async (actor) => await actor.facts.remote()));
    expect(new Set(all.map(({ pid }) => pid)).size).toBe(8);
    expect(new Set(all.map(({ parent }) => parent))).toEqual(new Set([first.parent]));
    // Both Python's numbers and NumPy's.
    for (const index of [0, 1]) expect(new Set(all.map(({ random }) => random[index])).size).toBe(8);
    expect(all.every(({ total }) => total === 1000)).toBe(true);
    // In milliseconds only on an idle machine; beside one that imports by itself, always.
    const byItself = PyHolder.options({ runtimeEnv: { python: runtimeEnv.python } });
    const timesByItself: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      timesByItself.push(await timeOf(byItself, actors));
      times.push(await timeOf(PyHolder, actors));
    }
    expect(Math.min(...times)).toBeLessThan(Math.min(...timesByItself) / 2);
    const [shared, resident] = await python.task<() => [number, number]>(FORKED, "shared_kilobytes", { runtimeEnv }).remote();
    expect(shared).toBeGreaterThan(resident / 10);
    for (const actor of actors) await terminate(actor);
  });

  test("are interrupted, crash, and end as others do", async () => {
    const { parent } = await facts.remote();
    const spin = python.task<() => void>(FORKED, "spin", { runtimeEnv }).remote();
    await new Promise((resolve) => setTimeout(resolve, 100));
    cancel(spin);
    expect(await failureOf(spin)).toBeInstanceOf(TaskCancelledError);
    // The interrupted worker retires, and the next one is forked from the same parent.
    expect((await facts.remote()).parent).toBe(parent);
    const holder = PyHolder.remote();
    await holder.say.remote();
    const failure = (await failureOf(holder.crash.remote())) as Error & { signal?: string };
    expect(failure).toMatchObject({ code: "ACTOR_DIED", signal: "SIGSEGV", lastOutput: ["from a forked worker", "and its errors"] });
  });

  test("what cannot be imported ahead is told, with the remedy", async () => {
    const wrong = facts.options({ runtimeEnv: { ...runtimeEnv, pythonPreload: ["no_such_module"] } });
    expect((await failureOf(wrong.remote())).message).toMatch(/Cannot preload no_such_module.*-m pip install no_such_module/s);
  });

  test("all of them end with the session", async () => {
    const { pid, parent } = await facts.remote();
    await shutdown();
    await until(() => !isAlive(pid) && !isAlive(parent), "the workers and their parent to end");
  });
});
