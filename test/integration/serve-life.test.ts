/**
 * The life of deployments under constant load, with a client that counts: no request is lost or run twice in any planned change, and in unplanned ones only those fail that
 * were in flight.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import { actors, put, remote } from "shoal";
import * as serve from "shoal/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask, CountingClient } from "./serve-client.ts";
import { failureOf, Log, until, useFolder, useSession } from "./session.ts";

const folder = useFolder();
useSession({ numCpus: 4 });

let address = "";

class Service {
  #version: string;
  #file: string;
  #config = "none";
  /** Kept from the beginning on, and current all the same. */
  #context = serve.getReplicaContext();
  #health: "well" | "throws" | "hangs" = "well";
  constructor(version: string, file: string) {
    this.#version = version;
    this.#file = file;
    if (version.startsWith("broken")) throw new Error(`no such thing as ${version}`);
  }
  reconfigure(config: { word: string }): void {
    if (config.word === "bad") throw new Error("a bad word");
    this.#config = config.word;
  }
  async checkHealth(): Promise<void> {
    if (this.#config === "sickening") throw new Error("cannot stomach that");
    if (this.#version.startsWith("sick")) throw new Error(`feels ${this.#version}`);
    if (this.#health === "throws") throw new Error("feels worse");
    if (this.#health === "hangs") await new Promise(() => {});
  }
  fallIll(how: "throws" | "hangs"): number {
    this.#health = how;
    return process.pid;
  }
  async fetch(request: Request): Promise<string> {
    return this.work(new URL(request.url).searchParams.get("n") ?? "");
  }
  async work(n: string): Promise<string> {
    appendFileSync(this.#file, `${n}\n`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return `${this.#version} ${this.#config} ${process.pid}`;
  }
  end(): void {
    process.exit(3);
  }
  place(): string {
    return `${this.#context.rank} of ${this.#context.worldSize}`;
  }
}
class Dying {
  end(): void {
    process.exit(3);
  }
}
const Base = serve.deployment(Service, {
  numReplicas: 2,
  maxOngoingRequests: 8,
  healthCheckPeriodMs: 200,
  userConfig: { word: "one" },
  actorOptions: { numCpus: 0 },
});

beforeAll(async () => {
  await serve.start({ httpOptions: { port: 0, proxies: 2 } });
  address = Object.values((await serve.status()).proxies)[0]?.address ?? "";
});
afterAll(() => serve.shutdown());

const pidsOf = async (name: string): Promise<number[]> =>
  (await actors({ namespace: "shoal.serve" }))
    .filter((actor) => actor.name?.startsWith(`SERVE_REPLICA::${name}#`) === true && actor.phase === "alive")
    .map(({ pid }) => pid ?? 0);

/** Waits until this process knows of just these replicas, and they of their ranks. */
const placesBecome = (handle: { broadcast(method: "place"): Promise<string[]> }, ...places: string[]): Promise<void> =>
  until(async () => (await handle.broadcast("place")).sort().join() === places.join(), `the ranks ${places.join()}`);

test("updates, changes of configuration and of number lose no request, by HTTP and by handles", async () => {
  const log = new Log(folder);
  const calls = new Log(folder);
  const options = { name: "update", routePrefix: "/update" };
  const handle = await serve.run(Base.bind("v1", log.file), options);
  await serve.run(Base.options({ name: "Direct" }).bind("v1", calls.file), { name: "direct", routePrefix: null });
  const direct = await serve.getAppHandle<typeof Base>("direct");
  const client = new CountingClient(address, { path: "/update" });
  const caller = new CountingClient(address, { via: (n) => direct.work.remote(String(n)) });
  await client.more(50);
  // A new version.
  await serve.run(Base.bind("v2", log.file), options);
  await client.more(50);
  expect((await ask(address, "/update?n=x")).body).toMatch(/^v2 one /);
  // A new configuration, in place: the processes stay. The replicas that came up beside others have taken their ranks.
  await placesBecome(handle, "0 of 2", "1 of 2");
  await until(async () => (await pidsOf("update")).length === 2, "the replicas of the first version to end");
  const before = await pidsOf("update");
  await serve.run(Base.options({ userConfig: { word: "two" } }).bind("v2", log.file), options);
  expect((await ask(address, "/update?n=y")).body).toMatch(/^v2 two /);
  expect(await pidsOf("update")).toEqual(before);
  // The code changes and the named version stays: no replica is replaced.
  await serve.run(Base.options({ name: "Direct", version: "1" }).bind("v1", calls.file), { name: "direct", routePrefix: null });
  await until(async () => (await pidsOf("direct")).length === 2, "the replicas without a named version to end");
  const named = await pidsOf("direct");
  const late = await put("later");
  await serve.run(Base.options({ name: "Direct", version: "1" }).bind(late as never, calls.file), { name: "direct", routePrefix: null });
  expect(await pidsOf("direct")).toEqual(named);
  // More, fewer.
  const two = Base.options({ userConfig: { word: "two" } });
  await serve.run(two.options({ numReplicas: 3 }).bind("v2", log.file), options);
  // By then this process has heard of the third one.
  expect(await handle.broadcast("place")).toHaveLength(3);
  await placesBecome(handle, "0 of 3", "1 of 3", "2 of 3");
  await client.more(50);
  await serve.run(two.options({ numReplicas: 1 }).bind("v2", log.file), options);
  await until(async () => (await pidsOf("update")).length === 1, "two replicas to end");
  await placesBecome(handle, "0 of 1");
  await client.more(50);
  await serve.run(Base.options({ name: "Direct" }).bind("v2", calls.file), { name: "direct", routePrefix: null });
  await caller.more(50);
  await Promise.all([client.stop(), caller.stop()]);
  expect([client.failures, caller.failures]).toEqual([[], []]);
  expect(client.answers.size).toBe(client.sent);
  expect(CountingClient.twice(log)).toEqual([]);
  expect(CountingClient.twice(calls)).toEqual([]);
  await Promise.all([serve.delete("update"), serve.delete("direct")]);
});

test("a version that does not start, or is not healthy, makes way for the former one", async () => {
  const log = new Log(folder);
  const options = { name: "back", routePrefix: "/back" };
  const One = Base.options({ numReplicas: 1, maxConstructorRetryCount: 2 });
  await serve.run(One.bind("v1", log.file), options);
  const client = new CountingClient(address, { path: "/back" });
  for (const bad of ["broken", "sick"]) {
    const failure = await failureOf(serve.run(One.bind(bad, log.file), options));
    expect(failure).toBeInstanceOf(serve.DeployFailedError);
    expect(failure.message).toContain(bad === "broken" ? "no such thing as broken" : "feels sick");
    expect((await serve.status()).applications["back"]).toMatchObject({ status: "DEPLOY_FAILED" });
    await client.more(20);
  }
  const badWord = await failureOf(serve.run(One.options({ userConfig: { word: "bad" } }).bind("v1", log.file), options));
  expect(badWord.message).toContain("a bad word");
  const sickening = await failureOf(serve.run(One.options({ userConfig: { word: "sickening" } }).bind("v1", log.file), options));
  expect(sickening.message).toContain("the health check failed with the new userConfig: cannot stomach that");
  await client.more(20);
  await serve.run(One.bind("v3", log.file), options);
  expect((await serve.status()).applications["back"]).toMatchObject({ status: "RUNNING" });
  await client.stop();
  expect(client.failures).toEqual([]);
  expect((await ask(address, "/back?n=z")).body).toMatch(/^v3 /);
  await serve.delete("back");
});

test("an application of which one deployment fails goes back as a whole, and two applications exchange their paths", async () => {
  class Front {
    #version: string;
    #behind: serve.HandleOf<typeof Behind>;
    constructor(version: string, behind: serve.HandleOf<typeof Behind>) {
      this.#version = version;
      this.#behind = behind;
    }
    async fetch(): Promise<string> {
      return `${this.#version} ${await this.#behind.version.remote()}`;
    }
  }
  class Behind {
    #version: string;
    constructor(version: string) {
      this.#version = version;
      if (version === "broken") throw new Error("no such version");
    }
    version(): string {
      return this.#version;
    }
  }
  const settings = { actorOptions: { numCpus: 0 }, maxConstructorRetryCount: 2 };
  const Fronts = serve.deployment(Front, settings);
  const Behinds = serve.deployment(Behind, settings);
  const application = (version: string, behind = version) => Fronts.bind(version, Behinds.bind(behind));
  await serve.runMany([
    { application: application("left"), name: "left", routePrefix: "/x" },
    { application: application("right"), name: "right", routePrefix: "/y" },
  ]);
  const failure = await failureOf(serve.run(application("newer", "broken"), { name: "left", routePrefix: "/z" }));
  expect([failure.message, (failure as serve.DeployFailedError).hint]).toEqual([
    expect.stringContaining("Behind: Error: no such version"),
    expect.stringContaining("The former version serves on."),
  ]);
  await until(async () => (await ask(address, "/x")).body === "left left", "the former version of both");
  await serve.runMany([
    { application: application("left", "left2"), name: "left", routePrefix: "/y" },
    { application: application("right", "right2"), name: "right", routePrefix: "/x" },
  ]);
  const bodies = await Promise.all(["/x", "/y"].map(async (path) => (await ask(address, path)).body));
  expect(bodies).toEqual(["right right2", "left left2"]);
  await Promise.all([serve.delete("left"), serve.delete("right")]);
});

test("the first version of an application that does not start fails the deployment", async () => {
  const One = Base.options({ numReplicas: 1, maxConstructorRetryCount: 1 });
  const failure = await failureOf(serve.run(One.bind("broken", "none"), { name: "never", routePrefix: "/never" }));
  expect(failure.message).toContain("no such thing as broken");
  expect((await ask(address, "/never")).status).toBe(503);
  await serve.delete("never");
});

test("a replica that dies is replaced; only what was in flight fails, or runs again where it may", async () => {
  const log = new Log(folder);
  await serve.run(Base.bind("v1", log.file), { name: "dies", routePrefix: "/dies" });
  await serve.run(Base.options({ idempotentMethods: ["GET", "work"] }).bind("v1", `${log.file}-again`), {
    name: "again",
    routePrefix: "/again",
  });
  const client = new CountingClient(address, { path: "/dies" });
  const again = new CountingClient(address, { path: "/again" });
  await Promise.all([client.more(20), again.more(20)]);
  for (const app of ["dies", "again"]) process.kill((await pidsOf(app))[0] as number, "SIGKILL");
  await Promise.all([client.more(100), again.more(100)]);
  await until(async () => (await pidsOf("dies")).length === 2 && (await pidsOf("again")).length === 2, "both to be replaced");
  await Promise.all([client.stop(), again.stop()]);
  // As many as can be in flight to one replica.
  expect(client.failures.length).toBeLessThanOrEqual(8);
  for (const failure of client.failures) expect(failure).toContain("the replica died while it had the request");
  expect(again.failures).toEqual([]);
  expect(CountingClient.twice(log)).toEqual([]);
  await until(async () => (await serve.status()).applications["dies"]?.status === "RUNNING", "the status to be RUNNING");
  expect((await serve.status()).applications["dies"]?.message).toMatch(/^\w+: replica dies#\w+#\w+ died: its process ended \(SIGKILL\)$/);
  // An argument whose own actor has died says nothing of the replicas.
  const handle = await serve.getAppHandle<typeof Base>("dies");
  await until(async () => (await handle.broadcast("place")).length === 2, "this process to know both");
  const argument = remote(Dying).remote().end.remote();
  expect(await failureOf(handle.work.remote(argument as never))).toMatchObject({
    code: "ACTOR_DIED",
    message: expect.stringContaining("Dying.end"),
  });
  expect(await handle.broadcast("place")).toHaveLength(2);
  await Promise.all([serve.delete("dies"), serve.delete("again")]);
});

test("a replica that runs is replaced when its health check begins to fail, or to hang", async () => {
  const log = new Log(folder);
  const Checked = Base.options({ healthCheckPeriodMs: 100, healthCheckTimeoutMs: 500 });
  const handle = await serve.run(Checked.bind("v1", log.file), { name: "ill", routePrefix: "/ill" });
  for (const how of ["throws", "hangs"] as const) {
    const ill = await handle.fallIll.remote(how);
    await until(async () => {
      const pids = await pidsOf("ill");
      return pids.length === 2 && !pids.includes(ill);
    }, `another replica in place of one whose check ${how}`);
  }
  expect((await ask(address, "/ill?n=1")).body).toMatch(/^v1 /);
  await serve.delete("ill");
});

test("a replica that retires ends what it has, disposes of its object, and waits no longer than it may", async () => {
  const log = new Log(folder);
  class Ends {
    readonly #file: string;
    constructor(file: string) {
      this.#file = file;
    }
    async fetch(request: Request): Promise<string> {
      appendFileSync(this.#file, "begun\n");
      await new Promise((resolve) => setTimeout(resolve, Number(new URL(request.url).searchParams.get("ms"))));
      appendFileSync(this.#file, "done\n");
      return "done";
    }
    async [Symbol.asyncDispose](): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 10));
      appendFileSync(this.#file, "disposed\n");
    }
  }
  const Ending = serve.deployment(Ends, { actorOptions: { numCpus: 0 } });
  await serve.run(Ending.bind(log.file), { name: "ends", routePrefix: "/ends" });
  const last = ask(address, "/ends?ms=300");
  await until(() => log.lines.length === 1, "the request to begin");
  await serve.delete("ends");
  expect((await last).body).toBe("done");
  await until(() => log.lines.includes("disposed"), "the object to be disposed of");
  expect(log.lines).toEqual(["begun", "done", "disposed"]);

  const hasty = new Log(folder);
  await serve.run(Ending.options({ gracefulShutdownTimeoutMs: 300 }).bind(hasty.file), { name: "hasty", routePrefix: "/hasty" });
  const broken = ask(address, "/hasty?ms=600000");
  await until(() => hasty.lines.length === 1, "the request to begin");
  await serve.delete("hasty");
  expect((await broken).status).toBe(500);
  await until(async () => (await pidsOf("hasty")).length === 0, "the replica to end");
  expect(hasty.lines).not.toContain("done");
});

test("an application that is run again while it is deleted comes up, and the deletion ends", async () => {
  const log = new Log(folder);
  class Waits {
    #file: string;
    #word: string;
    constructor(file: string, word: string) {
      this.#file = file;
      this.#word = word;
    }
    async fetch(request: Request): Promise<string> {
      appendFileSync(this.#file, "begun\n");
      const { existsSync } = await import("node:fs");
      const release = new URL(request.url).searchParams.get("until") ?? "";
      const isHeld = (): boolean => release !== "" && !existsSync(release);
      while (isHeld()) await new Promise((resolve) => setTimeout(resolve, 5));
      return this.#word;
    }
  }
  const options = { name: "again", routePrefix: "/again" };
  const Waiting = serve.deployment(Waits, { actorOptions: { numCpus: 0 }, gracefulShutdownTimeoutMs: 600_000 });
  await serve.run(Waiting.bind(log.file, "first"), options);
  const release = `${log.file}.release`;
  const held = ask(address, `/again?until=${encodeURIComponent(release)}`);
  await until(() => log.lines.length === 1, "the request to begin");
  // The first replica cannot end before the request does, and so the deletion is not over when the application comes again.
  const deleted = serve.delete("again");
  await serve.run(Waiting.bind(log.file, "second"), options);
  expect(await deleted).toBe(true);
  expect((await ask(address, "/again")).body).toBe("second");
  writeFileSync(release, "");
  expect((await held).body).toBe("first");
  expect(await serve.delete("again")).toBe(true);
  expect(await serve.delete("again")).toBe(false);
});

test("an application whose options are too large to be kept is refused before anything changes", async () => {
  const log = new Log(folder);
  const large = { word: "x".repeat(600_000) };
  const options = { name: "large", routePrefix: "/large" };
  const refused = await failureOf(serve.run(Base.options({ userConfig: large }).bind("v1", log.file), options));
  expect(refused).toBeInstanceOf(RangeError);
  expect(refused.message).toMatch(
    /^Cannot run application large: the options of its deployments, now and before, take at most 921600 bytes: received 1\d{6}\. /,
  );
  expect((await serve.status()).applications["large"]).toBeUndefined();
  // The arguments of a constructor are code, and kept apart.
  await serve.run(Base.bind("x".repeat(1_500_000), log.file), options);
  const { body } = await ask(address, "/large?n=1");
  expect([body.lastIndexOf("x"), body.slice(1_500_000)]).toEqual([1_499_999, expect.stringMatching(/^ one \d+$/)]);
  await serve.delete("large");
});

test("of two applications that are run for one path at the same time one gets it", async () => {
  const log = new Log(folder);
  const names = ["left", "right"];
  const settled = await Promise.allSettled(
    names.map((name) => serve.run(Base.bind(`of-${name}`, log.file), { name, routePrefix: "/contested" })),
  );
  const [winner] = names.filter((_, index) => settled[index]?.status === "fulfilled");
  const [refused] = settled.filter((outcome) => outcome.status === "rejected");
  expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(String(refused?.reason)).toMatch(
    /^RangeError: Cannot run application (left|right): application (left|right) has the routePrefix already: received "\/contested"$/,
  );
  expect(Object.keys((await serve.status()).applications)).toEqual([winner]);
  expect((await ask(address, "/contested?n=1")).body).toMatch(new RegExp(`^of-${winner} `));
  await serve.delete(winner as string);
});

test("the number of replicas follows the load, from and to zero; requests wait for the first", async () => {
  const log = new Log(folder);
  const autoscalingConfig = {
    minReplicas: 0,
    maxReplicas: 3,
    targetOngoingRequests: 2,
    upscaleDelayMs: 200,
    downscaleDelayMs: 500,
    lookBackPeriodMs: 500,
  };
  const { numReplicas: _fixed, ...rest } = { numReplicas: undefined };
  const Scaled = serve.deployment(Service, { ...rest, autoscalingConfig, maxOngoingRequests: 4, actorOptions: { numCpus: 0 } });
  await serve.run(Scaled.bind("v1", log.file), { name: "zero", routePrefix: "/zero" });
  expect(await pidsOf("zero")).toEqual([]);
  expect((await ask(address, "/zero?n=first")).body).toMatch(/^v1 /);
  const client = new CountingClient(address, { path: "/zero", atATime: 12 });
  await until(async () => (await pidsOf("zero")).length >= 2, "more replicas under load");
  await client.stop();
  expect(client.failures).toEqual([]);
  await until(async () => (await pidsOf("zero")).length === 0, "all replicas to end without load");
  expect(CountingClient.twice(log)).toEqual([]);
  await serve.delete("zero");
});

test("requests go on while the controller is dead, and the next one knows everything", async () => {
  const log = new Log(folder);
  const options = { name: "orphan", routePrefix: "/orphan" };
  await serve.run(Base.bind("v1", log.file), options);
  const client = new CountingClient(address, { path: "/orphan" });
  await client.more(20);
  const before = await pidsOf("orphan");
  const controller = (await actors({ namespace: "shoal.serve" })).find(({ name }) => name === "SERVE_CONTROLLER");
  process.kill(controller?.pid ?? 0, "SIGKILL");
  await client.more(100);
  await until(
    async () => (await serve.status()).applications["orphan"]?.status === "RUNNING",
    "the next controller to know the application",
  );
  expect(await pidsOf("orphan")).toEqual(before);
  // The next controller replaces dead replicas, and updates the application.
  process.kill(before[0] as number, "SIGKILL");
  await until(async () => (await pidsOf("orphan")).filter((pid) => pid !== before[0]).length === 2, "the dead replica to be replaced");
  const failed = client.failures.length;
  expect(failed).toBeLessThanOrEqual(8);
  await serve.run(Base.bind("v2", log.file), options);
  await client.more(50);
  await client.stop();
  expect(client.failures.length).toBe(failed);
  expect((await ask(address, "/orphan?n=z")).body).toMatch(/^v2 /);
  expect(CountingClient.twice(log)).toEqual([]);
  await serve.delete("orphan");
});

test("the proxies of a node share its port; one that dies is started again there, and the other answers meanwhile", async () => {
  const log = new Log(folder);
  await serve.run(Base.bind("v1", log.file), { name: "proxied", routePrefix: "/proxied" });
  const addresses = Object.values((await serve.status()).proxies).map((proxy) => proxy.address);
  expect(addresses).toEqual([address, address]);
  const proxies = (await actors({ namespace: "shoal.serve" })).filter(({ name }) => name?.startsWith("SERVE_PROXY::") === true);
  process.kill(proxies[0]?.pid ?? 0, "SIGKILL");
  const statuses = new Set<number>();
  await until(async () => {
    const { status } = await ask(address, "/proxied?n=a", { headers: { connection: "close" } }).catch(() => ({ status: 0 }));
    statuses.add(status);
    const pids = (await actors({ namespace: "shoal.serve" })).filter(
      ({ name, phase }) => name?.startsWith("SERVE_PROXY::") === true && phase === "alive",
    );
    return status === 200 && pids.length === 2 && !pids.some(({ pid }) => pid === proxies[0]?.pid);
  }, "another proxy in its place");
  // A proxy that listens knows the paths: nobody is told that there is no such application.
  for (let index = 0; index < 20; index += 1)
    statuses.add((await ask(address, "/proxied?n=a", { headers: { connection: "close" } })).status);
  expect([...statuses]).not.toContain(404);
  expect(Object.values((await serve.status()).proxies).map((proxy) => proxy.address)).toEqual([address, address]);
  await serve.delete("proxied");
});
