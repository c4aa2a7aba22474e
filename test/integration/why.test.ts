/** `why(ref)` on real processes: each thing that a call can wait for is found and named. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ObjectRef, placementGroup, ready, remote, type Why, why } from "shoal";
import { describe, expect, test } from "vitest";
import { failureOf, until, useFolder, useSession } from "./session.ts";

useSession({ numCpus: 2, numGpus: 1 });
const folder = useFolder();

let gates = 0;
function gate(): { file: string; open: () => void } {
  gates += 1;
  const file = join(folder, `gate-${gates}`);
  return { file, open: () => writeFileSync(file, "") };
}

/** Waits for a file without computing all the time. */
const pass = async (file: string): Promise<string> => {
  while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
  return file;
};
const waitFor = remote(pass);

/** The explanation, once it is of this kind and says this: a call moves from one to the next, and what asks may not be answered in time. */
async function whyWhen(ref: ObjectRef<unknown>, state: Why["state"], text = /^/): Promise<Why> {
  let last: Why | undefined;
  await until(
    async () => {
      last = await why(ref);
      return last.state === state && text.test(String(last));
    },
    `why() to say "${state}" and ${String(text)}`,
  ).catch((error: Error) => {
    throw new Error(`${error.message}; it says: ${String(last)}`);
  });
  return last as Why;
}

describe("why", () => {
  test("a running task: its process and how long", async () => {
    const { file, open } = gate();
    const ref = waitFor.remote(file);
    const found = await whyWhen(ref, "running");
    expect(found.what).toBe("task pass");
    expect(found.details["pid"]).toBeTypeOf("number");
    open();
    await ref;
    expect(await why(ref)).toMatchObject({ state: "ready", causes: [] });
  });

  test("a task that computes does not answer, and that is said", async () => {
    const { file, open } = gate();
    const ref = remote((path: string) => {
      while (!existsSync(path));
    }).remote(file);
    await whyWhen(ref, "running", /computes in process/);
    open();
    await ref;
  });

  test("arguments: the tasks that make them, as a tree that can be read", async () => {
    const { file, open } = gate();
    const slow = waitFor.remote(file);
    const join2 = remote((a: string, b: string) => a + b).options({ name: "join" });
    const ref = join2.remote(slow, "x");
    const found = await whyWhen(ref, "waits for arguments", /it runs in process/);
    expect(found).toMatchObject({ what: "task join", state: "waits for arguments", causes: [{ what: "task pass", state: "running" }] });
    expect(String(found)).toMatch(
      /^task join waits for arguments: 1 argument is not there yet\n└─ task pass running: it runs in process \d+, for [\d.]+ s$/,
    );
    open();
    await ref;
  });

  test("resources: what is missing and who holds it", async () => {
    class Model {
      ping(): number {
        return 1;
      }
    }
    const model = remote(Model, { numGpus: 1 }).remote();
    await ready(model);
    const train = remote(() => 1, { numGpus: 0.5, name: "train" });
    const ref = train.remote();
    const found = await whyWhen(ref, "waits for resources");
    expect(found.reason).toBe("it needs 0.5 GPU, of which 0 is free; held by actor Model (1 GPU)");
    expect(found.details["lacking"]).toEqual([{ name: "GPU", wanted: 0.5, free: 0 }]);
    model[Symbol.dispose]();
    expect(await ref).toBe(1);
  });

  test("what will never be: the resource that the cluster lacks, the label", async () => {
    const huge = remote(() => 1, { resources: { tpu: 4 } }).remote();
    expect(await whyWhen(huge, "can never run")).toMatchObject({
      reason: expect.stringContaining("waits for 4 tpu, but the node has 0 in all"),
    });
    const far = remote(() => 1, { labelSelector: { region: "mars" } }).remote();
    expect(await whyWhen(far, "can never run")).toMatchObject({ reason: expect.stringContaining("label region is mars") });
    class Large {
      run(): number {
        return 1;
      }
    }
    using actor = remote(Large, { numCpus: 64 }).remote();
    const call = actor.run.remote();
    const found = await whyWhen(call, "waits for the actor");
    expect(String(found)).toContain("waits for 64 CPU, but the node has 2 in all");
  });

  test("a placement group that does not fit yet", async () => {
    const first = await placementGroup([{ CPU: 2 }]).ready();
    const second = placementGroup([{ CPU: 1 }]);
    const ref = remote(() => 1, { placementGroup: second }).remote();
    const found = await whyWhen(ref, "waits for a placement group");
    expect(found.reason).toBe(
      `placement group ${second.id} is not reserved yet: it needs 1 CPU, of which 0 is free; held by placement group ${first.id} (2 CPU)`,
    );
    await first.remove();
    expect(await ref).toBe(1);
    await second.remove();
  });

  test("its turn in an actor: the call that runs there", async () => {
    class Desk {
      async serve(file: string): Promise<void> {
        while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      last(): number {
        return 1;
      }
    }
    using desk = remote(Desk).remote();
    const { file, open } = gate();
    const serving = desk.serve.remote(file);
    const last = desk.last.remote();
    const found = await whyWhen(last, "waits for its turn", /it waits in its actor, behind Desk\.serve\n.*running/);
    expect(found).toMatchObject({
      what: "call Desk.last",
      reason: "it waits in its actor, behind Desk.serve",
      causes: [{ what: "call Desk.serve", state: "running" }],
    });
    open();
    await Promise.all([serving, last]);
  });

  test("refs that it waits for in its process, and on through nested and borrowed ones", async () => {
    const { file, open } = gate();
    const inner = waitFor.remote(file);
    const outer = remote(async (given: { ref: typeof inner }) => await given.ref).options({ name: "outer" });
    const ref = outer.remote({ ref: inner });
    const found = await whyWhen(ref, "waits for refs", /pass/);
    expect(found).toMatchObject({ what: "task outer", causes: [{ what: expect.stringContaining("pass") }] });
    const parent = remote(async (path: string) => await waitFor.remote(path)).options({ name: "parent" });
    const nested = parent.remote(file);
    const deep = await whyWhen(nested, "waits for refs", /task pass/);
    expect(deep.causes[0]).toMatchObject({ what: "task pass" });
    open();
    await Promise.all([ref, nested]);
  });

  test("actors that wait for each other: the cycle, by name", async () => {
    class Side {
      #other: { ask: { remote(): ObjectRef<unknown> } } | undefined;
      meet(other: { handle: { ask: { remote(): ObjectRef<unknown> } } }): void {
        this.#other = other.handle;
      }
      async ask(): Promise<unknown> {
        return await this.#other?.ask.remote();
      }
    }
    const left = remote(Side).remote();
    const right = remote(Side).remote();
    await Promise.all([left.meet.remote({ handle: right }), right.meet.remote({ handle: left })]);
    const ref = left.ask.remote();
    await until(
      async () => /these wait for each other and never end: .*Side\.ask → .*ask/.test(String(await why(ref))),
      "the cycle to be found",
    );
    left[Symbol.dispose]();
    right[Symbol.dispose]();
  });

  test("is refused for what is no ref", async () => {
    expect(await failureOf(why(5 as never))).toBeInstanceOf(TypeError);
  });
});
