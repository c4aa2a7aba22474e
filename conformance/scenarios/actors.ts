/** Actors: state, order, names, concurrency, restarts and ends. */
import { join } from "node:path";
import { eventually, type Handle, type Ref, type Scenario, sleep, type System } from "../system.ts";

const section = "1.4 Actors";

async function incremented(s: System, counter: Handle, times: number): Promise<unknown> {
  const refs: Ref[] = [];
  for (let call = 0; call < times; call += 1) refs.push(await s.call(counter, "increment"));
  return await s.getAll(refs);
}

export const scenarios: readonly Scenario[] = [
  { section, name: "an actor keeps its state", run: async (s) => await incremented(s, await s.actor("Counter", [10]), 5) },
  {
    section,
    name: "a caller's calls run in order",
    run: async (s) => {
      const recorder = await s.actor("Recorder");
      for (const [value, ms] of [
        ["a", 60],
        ["b", 5],
        ["c", 30],
        ["d", 0],
      ] as const)
        await s.call(recorder, "record", [value, ms]);
      return await s.get(await s.call(recorder, "seen"));
    },
  },
  {
    section,
    name: "a call whose argument is late holds back those behind it",
    run: async (s) => {
      const recorder = await s.actor("Recorder");
      await s.call(recorder, "record", [await s.task("sleepMs", [300, "late"])]);
      await s.call(recorder, "record", ["after"]);
      return await s.get(await s.call(recorder, "seen"));
    },
  },
  {
    section,
    name: "a method that throws leaves the actor alive",
    run: async (s) => {
      const counter = await s.actor("Counter");
      return [await s.get(await s.call(counter, "fail", ["oops"])), await s.get(await s.call(counter, "increment"))];
    },
  },
  {
    section,
    name: "a constructor that throws fails the calls",
    run: async (s) => {
      const outcome = await s.get(await s.call(await s.actor("Doomed", ["no"]), "hello"));
      return "error" in outcome ? outcome.error : outcome;
    },
  },
  {
    section,
    name: "a handle can be passed to a task",
    run: async (s) => await s.get(await s.task("callActor", [[await s.actor("Counter", [1])], 4])),
  },
  {
    section,
    name: "a named actor is found in a task",
    run: async (s) => {
      const counter = await s.actor("Counter", [5], { name: "conformance-named" });
      await s.get(await s.call(counter, "value"));
      return await s.get(await s.task("callNamed", ["conformance-named", 2]));
    },
  },
  {
    section,
    name: "an actor knows its name",
    run: async (s) => await s.get(await s.call(await s.actor("Counter", [], { name: "conformance-self" }), "nameOfActor")),
  },
  {
    section,
    name: "an unknown name is an error",
    run: async (s) => "error" in (await s.getActor("conformance-nobody")),
  },
  {
    section,
    name: "getIfExists gives the one that exists",
    run: async (s) => {
      const settings = { name: "conformance-once", getIfExists: true };
      const first = await s.actor("Counter", [100], settings);
      await s.get(await s.call(first, "increment"));
      const second = await s.actor("Counter", [0], settings);
      return await s.get(await s.call(second, "increment"));
    },
  },
  {
    section,
    name: "a name is free again after its actor's end",
    run: async (s) => {
      const settings = { name: "conformance-again" };
      const first = await s.actor("Counter", [1], settings);
      await s.get(await s.call(first, "value"));
      await s.kill(first);
      const taken = await eventually(
        async () => "error" in (await s.getActor("conformance-again")),
        (gone) => gone,
      );
      return [taken, await s.get(await s.call(await s.actor("Counter", [2], settings), "value"))];
    },
  },
  {
    section,
    name: "names are of one namespace",
    run: async (s) => {
      const far = await s.actor("Counter", [1], { name: "conformance-far", namespace: "elsewhere" });
      await s.get(await s.call(far, "value"));
      return [
        "error" in (await s.getActor("conformance-far")),
        "value" in (await s.getActor("conformance-far", { namespace: "elsewhere" })),
      ];
    },
  },
  {
    section,
    name: "a killed actor is dead",
    run: async (s) => {
      const counter = await s.actor("Counter");
      await s.get(await s.call(counter, "value"));
      await s.kill(counter);
      await sleep(300);
      return await s.get(await s.call(counter, "value"));
    },
  },
  {
    section,
    name: "an actor that dies takes its state with it",
    run: async (s) => {
      const counter = await s.actor("Counter");
      return [await s.get(await s.call(counter, "die")), await s.get(await s.call(counter, "value"))];
    },
  },
  {
    section,
    name: "maxRestarts begins a new life with new state",
    run: async (s) => {
      const counter = await s.actor("Counter", [7], { maxRestarts: 1 });
      await s.get(await s.call(counter, "increment"));
      const died = await s.get(await s.call(counter, "die"));
      const value = await eventually(
        async () => await s.get(await s.call(counter, "value")),
        (outcome) => "value" in outcome,
      );
      return ["error" in died, value, await s.get(await s.call(counter, "reconstructed"))];
    },
  },
  {
    section,
    name: "restarts are used up",
    run: async (s) => {
      const counter = await s.actor("Counter", [7], { maxRestarts: 1 });
      await s.get(await s.call(counter, "die"));
      await eventually(
        async () => await s.get(await s.call(counter, "value")),
        (outcome) => "value" in outcome,
      );
      await s.get(await s.call(counter, "die"));
      const last = await eventually(
        async () => await s.get(await s.call(counter, "value")),
        (outcome) => "error" in outcome && outcome.error === "ActorDiedError",
      );
      return last;
    },
  },
  {
    section,
    name: "maxTaskRetries replays the call after a restart",
    run: async (s) => {
      const phoenix = await s.actor("Phoenix", [join(s.folder, "phoenix")], { maxRestarts: 2, maxTaskRetries: 2 });
      return await s.get(await s.call(phoenix, "dieOnce"));
    },
  },
  {
    section,
    name: "without maxTaskRetries the call fails and the actor lives on",
    run: async (s) => {
      const phoenix = await s.actor("Phoenix", [join(s.folder, "phoenix-2")], { maxRestarts: 2 });
      const died = await s.get(await s.call(phoenix, "dieOnce"));
      return [
        "error" in died,
        await eventually(
          async () => await s.get(await s.call(phoenix, "lives")),
          (outcome) => "value" in outcome,
        ),
      ];
    },
  },
  {
    section,
    name: "kill with a restart",
    run: async (s) => {
      const counter = await s.actor("Counter", [3], { maxRestarts: 1 });
      await s.get(await s.call(counter, "increment"));
      await s.kill(counter, { noRestart: false });
      await sleep(300);
      return await eventually(
        async () => await s.get(await s.call(counter, "value")),
        (outcome) => "value" in outcome,
      );
    },
  },
  {
    section,
    name: "maxConcurrency lets a second call in",
    run: async (s) => {
      const gate = await s.actor("Gate", [], { maxConcurrency: 2 });
      const passing = await s.call(gate, "pass");
      return [await s.get(await s.call(gate, "open"), { timeoutMs: 5000 }), await s.get(passing, { timeoutMs: 5000 })];
    },
  },
  {
    section,
    name: "an async actor without maxConcurrency",
    differs: "api.md, decision 3: our actors are serial unless they opt in, Ray's async actors run 1,000 calls at a time",
    run: async (s) => {
      const gate = await s.actor("Gate");
      await s.get(await s.call(gate, "isOpen"));
      const passing = await s.call(gate, "pass");
      const opened = await s.get(await s.call(gate, "open"), { timeoutMs: 1500 });
      await s.kill(gate);
      return [opened, "error" in (await s.get(passing))];
    },
  },
  {
    section,
    name: "maxPendingCalls refuses more",
    run: async (s) => {
      const counter = await s.actor("Counter", [], { maxPendingCalls: 2 });
      await s.get(await s.call(counter, "value"));
      const outcomes = [];
      for (let call = 0; call < 4; call += 1) outcomes.push(await s.tryCall(counter, "incrementSlowly", [700]));
      return outcomes.map((outcome) => ("error" in outcome ? outcome.error : "accepted"));
    },
  },
  {
    section,
    name: "a ref that an actor keeps stays readable",
    run: async (s) => {
      const counter = await s.actor("Counter");
      await s.get(await s.call(counter, "hold", [[await s.put("kept")]]));
      return await s.get(await s.call(counter, "readHeld"));
    },
  },
  {
    section,
    name: "an actor holds no CPU while it runs by default",
    run: async (s) => await s.get(await s.call(await s.actor("Counter"), "assigned", ["CPU"])),
  },
  {
    section,
    name: "an actor holds what it asks for",
    run: async (s) =>
      await s.get(await s.call(await s.actor("Counter", [], { numCpus: 1, resources: { widget: 1 } }), "assigned", ["widget"])),
  },
];
