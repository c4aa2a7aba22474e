/**
 * Features for model servers: batches, streams in batches, many models in one replica, gangs, metrics; and local testing mode, which needs no process.
 */
import { writeFileSync } from "node:fs";
import { actors, nodes, placementGroupTable } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, CountingClient } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 4 });

let address = "";

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0 }, development: true });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
});
afterAll(() => serve.shutdown());

test("single calls become batches; a stream of each item comes out of a batch that streams", async () => {
  class Model {
    sizes: number[] = [];
    classify = serve.batch(
      async (texts: string[]) => {
        this.sizes.push(texts.length);
        return texts.map((text) => (text === "bad" ? new RangeError("a bad text") : text.length));
      },
      { maxBatchSize: 4, batchWaitTimeoutMs: 50 },
    );
    count = serve.batch(
      async function* (limits: number[]): AsyncGenerator<(number | serve.EndOfStream)[], void, undefined> {
        for (let number = 0; number < Math.max(...limits); number += 1)
          yield limits.map((limit) => (number < limit ? number : serve.END_OF_STREAM));
      },
      { maxBatchSize: 2, batchWaitTimeoutMs: 50 },
    );
    broken = serve.batch((items: number[]) => items.slice(1), { maxBatchSize: 2, batchWaitTimeoutMs: 5 });
    seen(): number[] {
      return this.sizes;
    }
  }
  const handle = await serve.run(serve.deployment(Model, { maxOngoingRequests: 100 }).bind(), { name: "batch", routePrefix: null });
  const texts = ["a", "bb", "ccc", "dddd", "bad", "ffffff"];
  const answers = await Promise.allSettled(texts.map((text) => handle.classify.remote(text)));
  expect(
    answers.map((answer) => (answer.status === "fulfilled" ? answer.value : (answer.reason as Error & { cause: Error }).cause.message)),
  ).toEqual([1, 2, 3, 4, "a bad text", 6]);
  expect(await handle.seen.remote()).toEqual([4, 2]);
  const streams = [2, 3].map((limit) => handle.count.options({ stream: true }).remote(limit));
  const items = await Promise.all(streams.map((stream) => all(stream as AsyncIterable<number>)));
  expect(items).toEqual([
    [0, 1],
    [0, 1, 2],
  ]);
  const failure = await failureOf(handle.broken.remote(1));
  expect((failure.cause as Error).message).toBe(
    "Cannot give back a batch: as many results as items are needed, in their order: received 0 for 1",
  );
  await serve.delete("batch");
});

test("a call that is cancelled while it waits leaves its batch, a stream as well", async () => {
  class Model {
    readonly batches: string[][] = [];
    readonly log: string[] = [];
    readonly #plain: (text: string) => Promise<string>;
    readonly #stream: (text: string) => AsyncIterable<string>;
    constructor() {
      const { batches, log } = this;
      const batchSizeFn = (text: string): number => log.push(`${text} waits`) && 1;
      const options = { maxBatchSize: 2, batchWaitTimeoutMs: 60_000, batchSizeFn };
      this.#plain = serve.batch((texts: string[]) => (batches.push(texts), texts), options);
      this.#stream = serve.batch(async function* (texts: string[]) {
        batches.push(texts);
        yield texts;
      }, options);
    }
    async plain(text: string): Promise<string> {
      try {
        return await this.#plain(text);
      } finally {
        this.log.push(`${text} left`);
      }
    }
    async *stream(text: string): AsyncGenerator<string, void, undefined> {
      try {
        yield* this.#stream(text);
      } finally {
        this.log.push(`${text} left`);
      }
    }
    seen(): { batches: string[][]; log: string[] } {
      return { batches: this.batches, log: this.log };
    }
  }
  const handle = await serve.run(serve.deployment(Model, { maxOngoingRequests: 100 }).bind(), { name: "leaving", routePrefix: null });
  const logged = (line: string): Promise<void> => until(async () => (await handle.seen.remote()).log.includes(line), line);
  const stop = new AbortController();
  const { signal } = stop;
  const gone = [failureOf(handle.plain.options({ signal }).remote("one")), failureOf(all(handle.stream.options({ signal }).remote("two")))];
  await Promise.all([logged("one waits"), logged("two waits")]);
  stop.abort();
  await Promise.all([logged("one left"), logged("two left")]);
  for (const failure of await Promise.all(gone)) expect(failure).toBeInstanceOf(serve.RequestCancelledError);
  expect(await Promise.all(["a", "b"].map((text) => handle.plain.remote(text)))).toEqual(["a", "b"]);
  expect(await Promise.all(["c", "d"].map((text) => all(handle.stream.remote(text))))).toEqual([["c"], ["d"]]);
  expect((await handle.seen.remote()).batches).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
  await serve.delete("leaving");
});

test("a replica keeps the latest models, and requests go where theirs is loaded", async () => {
  const log = new Log(folder);
  const { file } = log;
  class Models {
    #model = serve.multiplexed(
      async (id: string) => {
        const { appendFileSync } = await import("node:fs");
        appendFileSync(file, `load ${id}\n`);
        return { id, pid: process.pid, [Symbol.dispose]: () => appendFileSync(file, `drop ${id}\n`) };
      },
      { maxModels: 2 },
    );
    async fetch(): Promise<unknown> {
      const { id, pid } = await this.#model();
      return { id, pid, asked: serve.getMultiplexedModelId() };
    }
    async which(): Promise<string> {
      return (await this.#model()).id;
    }
    /** Uses a model until all places have gone to others. */
    async use(): Promise<string[]> {
      const [{ id }, { existsSync, readFileSync }] = [await this.#model("used"), await import("node:fs")];
      for (const other of ["x", "y"]) await this.#model(other);
      while (!existsSync(`${file}-go`)) await new Promise((resolve) => setTimeout(resolve, 5));
      return readFileSync(file, "utf8")
        .split("\n")
        .filter((line) => line === `drop ${id}`);
    }
  }
  const handle = await serve.run(serve.deployment(Models, { numReplicas: 2, actorOptions: { numCpus: 0 } }).bind(), {
    name: "models",
    routePrefix: "/models",
  });
  const askFor = async (id: string): Promise<{ id: string; pid: number; asked: string }> =>
    JSON.parse((await ask(address, "/models", { headers: { serve_multiplexed_model_id: id } })).body);
  const first = await askFor("one");
  expect(first).toMatchObject({ id: "one", asked: "one" });
  // Once the controller has told which replica has the model, every request goes there.
  await until(async () => {
    const pids = new Set<number>();
    for (let index = 0; index < 6; index += 1) pids.add((await askFor("one")).pid);
    return pids.size === 1;
  }, "requests to go to the replica with the model");
  expect(await handle.which.options({ multiplexedModelId: "two" }).remote()).toBe("two");
  for (const id of ["three", "four", "five", "six"]) await askFor(id);
  await until(() => log.lines.some((line) => line.startsWith("drop ")), "a model to be dropped");
  const using = handle.use.remote();
  await until(() => log.lines.includes("load y"), "a request to have asked for more models than there may be");
  writeFileSync(`${file}-go`, "");
  expect(await using).toEqual([]);
  await until(() => log.lines.includes("drop used"), "the model to be dropped behind its request");
  const none = await ask(address, "/models");
  expect([none.status, none.body]).toEqual([500, expect.stringContaining("its id is needed")]);
  await serve.delete("models");
});

test("gangs start and end together, in placement groups, and an update of theirs loses no request", async () => {
  const log = new Log(folder);
  const { file } = log;
  class Member {
    async fetch(request: Request): Promise<string> {
      const { appendFileSync } = await import("node:fs");
      appendFileSync(file, `${new URL(request.url).searchParams.get("n")}\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return "member";
    }
    where(): serve.ReplicaContext {
      return { ...serve.getReplicaContext() };
    }
  }
  const [{ nodeId } = { nodeId: "" }] = await nodes();
  const labels = { "shoal.io/node-id": nodeId };
  const Gang = serve.deployment(Member, {
    numReplicas: 2,
    gangConfig: { gangSize: 2 },
    actorOptions: { numCpus: 0.5, labelSelector: labels },
  });
  const handle = await serve.run(Gang.bind(), { name: "gang", routePrefix: "/gang" });
  const places = await handle.broadcast("where");
  expect(new Set(places.map(({ rank }) => rank))).toEqual(new Set([0, 1]));
  // Every replica knows the members, and which of them it is.
  const { gangId = "", memberReplicaIds = [] } = places[0]?.gangContext ?? {};
  for (const { replicaId, gangContext } of places)
    expect(gangContext).toEqual({ gangId, rank: memberReplicaIds.indexOf(replicaId), worldSize: 2, memberReplicaIds });
  expect(new Set(memberReplicaIds)).toEqual(new Set(places.map(({ replicaId }) => replicaId)));
  const live = async () =>
    (await placementGroupTable()).filter(({ name, state }) => name?.startsWith("SERVE_GROUP::") === true && state !== "removed");
  expect(await live()).toHaveLength(1);
  // Each member has separate bundles, on nodes with the labels.
  const own = { placementGroupBundles: [{ CPU: 0.5 }, { CPU: 0.25 }], placementGroupBundleLabelSelector: [labels] };
  const client = new CountingClient(address, { path: "/gang" });
  await client.more(20);
  await serve.run(Gang.options({ ...own, actorOptions: { numCpus: 0.5 } }).bind(), { name: "gang", routePrefix: "/gang" });
  await client.more(20);
  await client.stop();
  expect(client.failures).toEqual([]);
  expect(CountingClient.twice(log)).toEqual([]);
  expect((await live()).at(-1)?.bundles.map((bundle) => bundle.CPU)).toEqual([0.5, 0.25, 0.5, 0.25]);
  // The next controller knows the group as well.
  const controller = (await actors({ namespace: "shoal.serve" })).find(({ name }) => name === "SERVE_CONTROLLER");
  process.kill(controller?.pid ?? 0, "SIGKILL");
  await serve.delete("gang");
  await until(async () => (await live()).length === 0, "the placement group to be removed");
});

test("metrics have Ray's names, and users' own are beside them", async () => {
  class Counted {
    #asked = new serve.metrics.Counter("shop_asked", { description: "How often", tagKeys: ["kind"] });
    #models = serve.multiplexed((id: string) => id, { maxModels: 1 });
    #sizes = serve.batch(function sizes(items: string[]) {
      return items.map(() => items.length);
    });
    async fetch(): Promise<string> {
      this.#asked.inc(1, { kind: 'a "b"' });
      for (const id of ["small", "small", "large"]) await this.#models(id);
      return `counted ${(await Promise.all([this.#sizes("a"), this.#sizes("b")])).join()}`;
    }
  }
  // The first request waits for the replica, and is reported: else it may be over before its process reports.
  const policy = ({ totalRequests }: serve.AutoscalingContext) => (totalRequests > 0 ? 1 : 0);
  const autoscalingConfig = { minReplicas: 0, maxReplicas: 2, policy };
  await serve.run(serve.deployment(Counted, { autoscalingConfig }).bind(), { name: "counted", routePrefix: "/counted" });
  for (let index = 0; index < 3; index += 1) expect((await ask(address, "/counted")).body).toBe("counted 2,2");
  await ask(address, "/not-there");
  const { getActor } = await import("shoal");
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  let text = "";
  // A controller that has just begun has not slept yet.
  const hasSlept = async () => (text = await controller.metrics.remote()).includes("\nserve_controller_sleep_duration_s ");
  await until(hasSlept, "the controller to sleep between two looks");
  expect(text).toMatch(
    /^serve_num_http_requests\{proxy="[^"]+",application="counted",route="\/counted",method="GET",status_code="200"\} 3$/m,
  );
  expect(text).toMatch(/^serve_num_http_error_requests\{.*status_code="404"\} \d+$/m);
  expect(text).toMatch(/^serve_deployment_request_counter\{application="counted",deployment="Counted",replica="counted#Counted#\w+"\} 3$/m);
  expect(text).toMatch(/^serve_deployment_processing_latency_ms_bucket\{.*deployment="Counted".*le="\+Inf"\} 3$/m);
  const own = 'application="counted",deployment="Counted",replica="[^"]+"';
  for (const [name, value] of [
    [`serve_batches_processed\\{${own},function_name="sizes"\\}`, 3],
    [`serve_actual_batch_size_bucket\\{${own},function_name="sizes",le="2"\\}`, 3],
    [`serve_batch_utilization_percent_bucket\\{${own},function_name="sizes",le="20"\\}`, 3],
    [`serve_batch_wait_time_ms_count\\{${own},function_name="sizes"\\}`, 6],
    [`serve_batch_execution_time_ms_count\\{${own},function_name="sizes"\\}`, 3],
    [`serve_batch_queue_length\\{${own},function_name="sizes"\\}`, 0],
    [`serve_multiplexed_get_model_requests_counter\\{${own}\\}`, 9],
    [`serve_multiplexed_models_load_counter\\{${own}\\}`, 6],
    [`serve_multiplexed_models_unload_counter\\{${own}\\}`, 5],
    [`serve_num_multiplexed_models\\{${own}\\}`, 1],
    [`serve_registered_multiplexed_model_id\\{${own},model_id="small"\\}`, 0],
    [`serve_registered_multiplexed_model_id\\{${own},model_id="large"\\}`, 1],
  ])
    expect(text).toMatch(new RegExp(`^${name} ${value}$`, "m"));
  for (const component of ["controller", "proxy", "replica"])
    expect(text).toMatch(
      new RegExp(
        `^serve_event_loop_scheduling_latency_ms_count\\{.*component="${component}",loop_type="main",actor_id="[^"]+"\\} \\d+$`,
        "m",
      ),
    );
  const scaled = 'application="counted",deployment="Counted"';
  for (const [line, value] of [
    ["serve_controller_control_loop_duration_s", "0\\.\\d+"],
    ["serve_controller_sleep_duration_s", "\\d+\\.\\d+"],
    ['serve_controller_num_control_loops\\{actor_id="[^"]+"\\}', "[1-9]\\d*"],
    ['serve_long_poll_pending_clients\\{namespace="deployment/counted/Counted"\\}', "1"],
    ['serve_long_poll_host_transmission_counter\\{namespace_or_state="deployment/counted/Counted"\\}', "[1-9]\\d*"],
    ['serve_long_poll_latency_ms_count\\{.*namespace="deployment/counted/Counted"\\}', "[1-9]\\d*"],
    ['serve_application_status\\{application="counted"\\}', "6"],
    [`serve_deployment_status\\{${scaled}\\}`, "6"],
    [`serve_autoscaling_desired_replicas\\{${scaled}\\}`, "1"],
    [`serve_autoscaling_target_ongoing_requests\\{${scaled}\\}`, "\\d"],
    [`serve_autoscaling_total_requests\\{${scaled}\\}`, "\\d"],
    [`serve_autoscaling_policy_execution_time_ms\\{${scaled},policy_scope="deployment"\\}`, "\\d"],
    [`serve_autoscaling_handle_metrics_delay_ms\\{${scaled},handle="\\d+"\\}`, "\\d+"],
    [`serve_replica_utilization_percent\\{${own}\\}`, "\\d+\\.\\d+"],
    ['serve_proxy_status\\{proxy="[^"]+",node_id="[^"]+"\\}', "2"],
    [`serve_replica_startup_latency_ms_count\\{${scaled}\\}`, "1"],
    [`serve_replica_initialization_latency_ms_count\\{${scaled}\\}`, "1"],
  ])
    expect(text).toMatch(new RegExp(`^${line} ${value}`, "m"));
  expect(text).toMatch(/^shop_asked\{application="counted",deployment="Counted",replica="[^"]+",kind="a \\"b\\""\} 3$/m);
  await serve.delete("counted");
  expect(await controller.metrics.remote()).toMatch(new RegExp(`^serve_replica_shutdown_duration_ms_count\\{${scaled}\\} 1$`, "m"));
  // The proxies keep nothing of an application that is gone.
  const kept = new RegExp(`^serve_num_router_requests\\{proxy="[^"]+",${scaled}\\}|^serve_long_poll_pending_clients\\{.*/counted/`, "m");
  expect(text).toMatch(kept);
  await until(async () => !kept.test(await controller.metrics.remote()), "the proxy's router to be gone, and its subscription");
});

test("handles of a program are counted, which no controller can call, and no series is told twice", async () => {
  class Back {
    #length = serve.batch(async (texts: string[]) => texts.map((text) => text.length), { maxBatchSize: 2, name: "length" });
    measure(text: string): Promise<number> {
      return this.#length(text);
    }
  }
  class Front {
    #back: serve.Handle<typeof Back>;
    constructor(back: serve.Handle<typeof Back>) {
      this.#back = back;
    }
    async measure(text: string): Promise<number> {
      return await this.#back.measure.remote(text);
    }
  }
  const bound = serve.deployment(Front, { numReplicas: 2 }).bind(serve.deployment(Back).bind());
  const handle = await serve.run(bound, { name: "two", routePrefix: null });
  expect(await Promise.all(["a", "bc", "def", "g"].map((text) => handle.measure.remote(text)))).toEqual([1, 2, 3, 1]);
  const { getActor } = await import("shoal");
  const controller = await getActor<{ metrics(): Promise<string> }>("SERVE_CONTROLLER", { namespace: "shoal.serve" });
  const text = await controller.metrics.remote();
  const ours = 'process="[^"]+",application="two",deployment="Front"';
  for (const name of ["serve_handle_request_counter", "serve_num_router_requests"])
    expect(text).toMatch(new RegExp(`^${name}\\{${ours}\\} 4$`, "m"));
  expect(text).toMatch(new RegExp(`^serve_num_ongoing_requests_at_replicas\\{${ours}\\} 0$`, "m"));
  expect(text).toMatch(/^serve_deployment_replica_starts\{.*deployment="Back".*\} 1$/m);
  expect(text).toMatch(/^serve_actual_batch_size_sum\{.*function_name="length"\} 4$/m);
  const series = text.split("\n").flatMap((line) => (line === "" || line.startsWith("#") ? [] : [line.slice(0, line.lastIndexOf(" "))]));
  expect(series.length).toBe(new Set(series).size);
  await serve.delete("two");
  const kept = new RegExp(`^serve_num_router_requests\\{${ours}\\}`, "m");
  await until(async () => !kept.test(await controller.metrics.remote()), "the program's router to be gone");
});

test("in development clients see what went wrong", async () => {
  class Wrong {
    fetch(): never {
      throw new Error("the shelf is empty");
    }
  }
  await serve.run(serve.deployment(Wrong).bind(), { name: "wrong", routePrefix: "/wrong" });
  const { status, body } = await ask(address, "/wrong");
  expect(status).toBe(500);
  expect((JSON.parse(body) as { detail: string }).detail).toMatch(/^Error: the shelf is empty\n +at /);
  await serve.delete("wrong");
});

test("local testing mode runs an application in this process", async () => {
  class Part {
    #word: string;
    constructor(word: string) {
      this.#word = word;
    }
    say(name: string): string {
      return `${this.#word} ${name}`;
    }
    async *letters(text: string): AsyncGenerator<string, void, undefined> {
      yield* text;
    }
  }
  class Whole {
    #part: serve.Handle<typeof Part>;
    constructor(part: serve.Handle<typeof Part>) {
      this.#part = part;
    }
    async fetch(request: Request): Promise<string> {
      return await this.#part.say.remote(await request.text());
    }
    pid(): number {
      return process.pid;
    }
    where(): string {
      return serve.getReplicaContext().deployment;
    }
    async spell(text: string): Promise<string[]> {
      return await all(this.#part.letters.remote(text));
    }
  }
  const app = serve.deployment(Whole).bind(serve.deployment(Part).bind("hello"));
  const handle = await serve.run(app, { localTestingMode: true });
  expect(await handle.fetch.remote(new Request("http://x/", { method: "POST", body: "you" }))).toBe("hello you");
  expect(await handle.pid.remote()).toBe(process.pid);
  expect(await handle.where.remote()).toBe("Whole");
  expect(await handle.spell.remote("abc")).toEqual(["a", "b", "c"]);
  expect((await serve.status()).applications["default"]).toBeUndefined();
});

test("a session has its replica: by the header, by an option of a handle, and in the calls of its requests", async () => {
  class Place {
    where(): string {
      return serve.getReplicaContext().replicaId;
    }
  }
  class Front {
    #place: serve.Handle<typeof Place>;
    constructor(place: serve.Handle<typeof Place>) {
      this.#place = place;
    }
    async fetch(): Promise<string> {
      return `${serve.getReplicaContext().replicaId} ${await this.#place.where.remote()}`;
    }
  }
  const options = { numReplicas: 2, maxOngoingRequests: 100, actorOptions: { numCpus: 0 } };
  await serve.run(serve.deployment(Front, options).bind(serve.deployment(Place, options).bind()), {
    name: "session",
    routePrefix: "/session",
  });
  const place = await serve.getDeploymentHandle<typeof Place>("Place", "session");
  const asked = async (session: string): Promise<string> => (await ask(address, "/session", { headers: { "X-Session-Id": session } })).body;
  const sessions = Array.from({ length: 16 }, (_, index) => `session ${index}`);
  const told = (): Promise<string[]> => Promise.all(sessions.map(asked));
  const behind = (): Promise<string[]> => Promise.all(sessions.map((session) => place.where.options({ sessionId: session }).remote()));
  // Each process hears of the second replica in its own time.
  await until(async () => {
    const [places, answers] = [await behind(), await told()];
    const isAgreed = answers.every((answer, index) => answer.endsWith(` ${places[index]}`));
    return isAgreed && new Set(answers.flatMap((both) => both.split(" "))).size === 4;
  }, "all processes to know all replicas");
  const [answers, places] = [await told(), await behind()];
  expect(await told()).toEqual(answers);
  expect(answers.map((answer) => answer.split(" ")[1])).toEqual(places);
  await serve.delete("session");
});

test("a policy and a router of the user's decide instead of Serve's", async () => {
  const wanted = 2;
  class First implements serve.RequestRouter {
    readonly #sign: number;
    constructor({ isLast }: { isLast: boolean }) {
      this.#sign = isLast ? -1 : 1;
    }
    // The one that comes first by name, or last, gets everything.
    chooseReplicas(_request: serve.RequestToRoute, candidates: readonly serve.CandidateReplica[]): readonly serve.CandidateReplica[] {
      return [...candidates].sort((a, b) => (a.id < b.id ? -this.#sign : this.#sign)).slice(0, 1);
    }
  }
  class Place {
    fetch(): string {
      return serve.getReplicaContext().replicaId;
    }
  }
  const autoscalingConfig = {
    minReplicas: 1,
    maxReplicas: 3,
    upscaleDelayMs: 0,
    policy: ({ currentReplicas }: serve.AutoscalingContext) => Math.max(currentReplicas, wanted),
  };
  const deployment = serve.deployment(Place, {
    autoscalingConfig,
    requestRouter: First,
    requestRouterArgs: { isLast: false },
    actorOptions: { numCpus: 0 },
  });
  const handle = await serve.run(deployment.bind(), { name: "own", routePrefix: "/own" });
  await until(
    async () => (await serve.status()).applications["own"]?.deployments["Place"]?.replicaStates.RUNNING === 2,
    "the policy to have its way",
  );
  const places = (await handle.broadcast("fetch")).sort((a, b) => (a < b ? -1 : 1));
  expect(places).toHaveLength(2);
  // The proxy hears of the second replica in its own time.
  await until(async () => (await ask(address, "/own")).body === places[0], "the proxy to know both");
  for (let index = 0; index < 10; index += 1) {
    expect((await ask(address, "/own")).body).toBe(places[0]);
    expect(await handle.remote()).toBe(places[0]);
  }
  // Other arguments make another router, and no other replicas.
  await serve.run(deployment.options({ requestRouterArgs: { isLast: true } }).bind(), { name: "own", routePrefix: "/own" });
  expect([(await ask(address, "/own")).body, await handle.remote()]).toEqual([places[1], places[1]]);
  expect(() => serve.deployment(Place, { requestRouterArgs: {} })).toThrow("requestRouterArgs are for a requestRouter, and there is none");
  expect(() => serve.deployment(Place, { requestRouter: Place as never })).toThrow(
    "a class with chooseReplicas(request, candidates) is needed",
  );
  await serve.delete("own");
});

test("an application that does not run yet says what it waits for, and who holds that", async () => {
  class Model {
    fetch(): string {
      return "here";
    }
  }
  const Large = serve.deployment(Model, { actorOptions: { numCpus: 3 } });
  await serve.run(Large.bind(), { name: "holds", routePrefix: "/holds" });
  const waiting = serve.run(Large.bind(), { name: "waits", routePrefix: "/waits" });
  const messageOf = async (): Promise<string> => (await serve.status()).applications["waits"]?.message ?? "";
  await until(async () => (await messageOf()) !== "", "the message");
  expect(await messageOf()).toMatch(
    /^Model: replica waits#Model#\w+ waits for resources: it needs 3 CPU, of which \d is free; held by .*; among these: replica holds#Model#\w+$/,
  );
  await serve.delete("holds");
  await waiting;
  expect(await messageOf()).toBe("");
  await serve.delete("waits");
});

test("a root comes before the paths of all applications", async () => {
  await serve.shutdown();
  const { address: rooted = "" } = await serve.start({ httpOptions: { port: 0, rootPath: "/models" } });
  const Echo = serve.deployment(({ url, headers }: Request) => [url.slice(url.lastIndexOf("/")), headers.get("x-forwarded-prefix")], {
    name: "Echo",
  });
  await serve.run(Echo.bind(), { name: "echo", routePrefix: "/echo" });
  expect((await ask(rooted, "/models/echo/a")).body).toBe('["/a","/models/echo"]');
  expect((await ask(rooted, "/echo/a")).status).toBe(404);
  expect(JSON.parse((await ask(rooted, "/-/routes")).body)).toEqual({ "/models/echo": "echo" });
});
