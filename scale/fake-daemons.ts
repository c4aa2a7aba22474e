/**
 * Puts a cluster of fake daemons on a real head and a real nats-server. Measures how long all take to join, how much they cost at rest, how
 * fast the head answers meanwhile, how it copes with many deaths at once, and how it bears many actors.
 *
 * The daemons share this process (`fake-daemon.ts`), whose own work is in the latencies. Throws where the head is wrong, and not only slow: a node that is not told, a death that was none.
 */
import type { ActorId } from "../src/runtime/base/ids.ts";
import { connect, listen } from "../src/runtime/os/network/endpoint.ts";
import { randomHex } from "../src/runtime/os/random.ts";
import { type LocalHead, startHead } from "../src/ops/providers/local-processes.ts";
import type { NodeInfoHeader } from "../src/runtime/wire/cluster/cluster-messages.ts";
import { MESSAGE } from "../src/runtime/wire/messages.ts";
import { FakeDaemon } from "./fake-daemon.ts";
import type { ScaleNats } from "./nats.ts";
import { openFilesMax, type ProcessWeight, weigh } from "./process-weight.ts";
import { facts, type Report, spread } from "./report.ts";

interface FakeDaemonsPlan {
  readonly daemons: number;
  /** At once. */
  readonly deaths: number;
  readonly actors: number;
  readonly restMs: number;
  /** How many questions of each kind are asked, one after the other. */
  readonly questions: number;
  /** Where the head keeps its tables; undefined for its memory. */
  readonly nats: Pick<ScaleNats, "access" | "pid"> | undefined;
}

/** Beside one for each node: the program's own, its listener, NATS. */
const OTHER_FILES = 64;
/** As many as a busy cluster has on the way at once. */
const ACTORS_AT_ONCE = 256;
const WAIT_MAX_MS = 30_000;
const TOKEN = "token of the scale run";
const SHAPE = "CPU:10000";

export async function runFakeDaemons(plan: FakeDaemonsPlan, report: Report): Promise<void> {
  const { daemons: count, nats } = plan;
  const head = await startHead({ token: TOKEN, address: "tcp://127.0.0.1:0", nats: nats?.access, onLine: (line) => console.error(line) });
  const daemons: FakeDaemon[] = [];
  // Where all that are to live can be called.
  const listener = await listen("tcp://127.0.0.1:0", (transport) => transport.end());
  try {
    const allowed = Math.min(openFilesMax(process.pid) ?? Infinity, openFilesMax(head.pid) ?? Infinity);
    if (allowed < count + OTHER_FILES)
      throw new RangeError(`Cannot have ${count} daemons: a process may have ${allowed} open files here: raise it with ulimit -n`);
    const run = new Run({ plan, head, daemons, address: listener.path });
    const where = nats === undefined ? "without" : "on";
    report.add(
      `${count} fake daemons join a head ${where} NATS (${allowed} open files allowed, ${count + OTHER_FILES} needed)`,
      facts(await run.join()),
    );
    report.add("at rest", facts({ ...(await run.rest()), ...(await run.questions("an idle cluster")) }));
    if (plan.actors > 0) report.add(`${plan.actors} actors on them`, facts(await run.actors()));
    if (plan.deaths > 0) report.add(`${plan.deaths} of the daemons die at once`, facts(await run.deaths()));
    if (plan.actors > 0) report.add("all actors are killed", facts(await run.killActors()));
  } finally {
    for (const daemon of daemons) daemon.kill();
    listener.close();
    head.kill("SIGTERM");
    await head.ended;
  }
}

class Run {
  readonly #plan: FakeDaemonsPlan;
  readonly #head: LocalHead;
  readonly #daemons: FakeDaemon[];
  readonly #actors: ActorId[] = [];
  readonly #address: string;
  #connections = 0;

  constructor({ plan, head, daemons, address }: { plan: FakeDaemonsPlan; head: LocalHead; daemons: FakeDaemon[]; address: string }) {
    this.#address = address;
    this.#plan = plan;
    this.#head = head;
    this.#daemons = daemons;
  }

  async join(): Promise<Record<string, number>> {
    const before = weigh(this.#head.pid);
    const beganMs = performance.now();
    for (let index = 0; index < this.#plan.daemons; index += 1) {
      const reach = (): ReturnType<typeof connect> => {
        this.#connections += 1;
        return connect(this.#head.address, { isHead: true });
      };
      const isToDie = index >= 1 && index <= this.#plan.deaths;
      const address = isToDie ? {} : { address: this.#address };
      this.#daemons.push(new FakeDaemon({ token: TOKEN, connect: reach, numCpus: 64, ...address }));
    }
    let joined = 0;
    for (const daemon of this.#daemons) {
      daemon.join().then(
        () => (joined += 1),
        (error: Error) => console.error(error.message),
      );
    }
    await this.#until(() => joined === this.#daemons.length, "every daemon to be registered");
    const joinedMs = performance.now() - beganMs;
    const others = this.#daemons.length - 1;
    await this.#until(() => this.#daemons.every(({ heard }) => heard.joined >= others), "every node to hear of every other");
    const knownMs = performance.now() - beganMs;
    const after = weigh(this.#head.pid);
    return {
      "all registered, s": joinedMs / 1000,
      "all known to all, s": knownMs / 1000,
      "head's CPU for that, s": after.cpuSeconds - before.cpuSeconds,
      "connections that it took": this.#connections,
      "frames to the nodes": this.#daemons.reduce((sum, { heard }) => sum + heard.frames, 0),
      "head's memory before, MB": before.megabytes,
      "head's memory, MB": after.megabytes,
    };
  }

  async rest(): Promise<Record<string, number>> {
    const { restMs } = this.#plan;
    const before = { head: weigh(this.#head.pid).cpuSeconds, nats: this.#nats.cpuSeconds };
    await new Promise((resolve) => setTimeout(resolve, restMs));
    const perSecond = (spent: number): number => (spent * 100) / (restMs / 1000);
    return {
      "at rest, head's use of a core, %": perSecond(weigh(this.#head.pid).cpuSeconds - before.head),
      "at rest, NATS' use of a core, %": perSecond(this.#nats.cpuSeconds - before.nats),
    };
  }

  async questions(when: string): Promise<Record<string, number>> {
    const first = this.#daemons[0] as FakeDaemon;
    const name = `looked up in ${when}`;
    await first.createActor(this.#newActor(), { name });
    const lookups = spread(await this.#times((daemon) => daemon.ask(MESSAGE.ACTOR_LOOKUP, { name, namespace: "scale" })));
    const places = spread(
      await this.#times(async (daemon) => {
        const answer = await daemon.wantLeases(SHAPE, 1);
        if (answer.kind !== "nodes") throw new Error(`no node was found for a lease: ${answer.kind}`);
        for (const { nodeId, placement } of answer.nodes) this.#daemons.find((other) => other.nodeId === nodeId)?.settle(placement);
      }),
    );
    return {
      "a named lookup, p50 ms": lookups.p50,
      "a named lookup, p99 ms": lookups.p99,
      "a lease's node, p50 ms": places.p50,
      "a lease's node, p99 ms": places.p99,
    };
  }

  async actors(): Promise<Record<string, number>> {
    const before = weigh(this.#head.pid);
    const beganMs = performance.now();
    await this.#inParallel(this.#plan.actors, (index) => this.#any(index).createActor(this.#newActor(), { name: `actor ${index}` }));
    const tookS = (performance.now() - beganMs) / 1000;
    const after = weigh(this.#head.pid);
    const named = spread(
      await this.#times((daemon, index) => {
        const name = `actor ${(index * 7919) % this.#plan.actors}`;
        return daemon.ask(MESSAGE.ACTOR_LOOKUP, { name, namespace: "scale" });
      }),
    );
    const unknown = spread(
      await this.#times((daemon) => daemon.ask(MESSAGE.ACTOR_LOOKUP, { name: "nobody", namespace: "scale" }).catch(() => undefined)),
    );
    return {
      "all alive, s": tookS,
      "actors/s": this.#plan.actors / tookS,
      "head's CPU each, us": ((after.cpuSeconds - before.cpuSeconds) * 1e6) / this.#plan.actors,
      "head's memory, MB": after.megabytes,
      "NATS' memory, MB": this.#nats.megabytes,
      "a named lookup, p50 ms": named.p50,
      "a named lookup, p99 ms": named.p99,
      "a lookup of nobody, p50 ms": unknown.p50,
    };
  }

  async deaths(): Promise<Record<string, number>> {
    const { deaths } = this.#plan;
    const before = weigh(this.#head.pid).cpuSeconds;
    const dying = this.#daemons.splice(1, deaths);
    const lost = new Set(dying.flatMap(({ actors }) => Array.from(actors.keys())));
    const beganMs = performance.now();
    for (const daemon of dying) daemon.kill();
    await this.#until(() => this.#daemons.every(({ heard }) => heard.died >= deaths), "every node to hear of the deaths");
    const knownMs = performance.now() - beganMs;
    const list = (await this.#any(0).ask(MESSAGE.NODES, undefined)) as NodeInfoHeader[];
    const alive = list.filter((node) => node.alive).length;
    const told = Math.max(...this.#daemons.map(({ heard }) => heard.died));
    if (alive !== this.#daemons.length || told > deaths)
      throw new Error(`${deaths} daemons died, and of ${this.#daemons.length + deaths} only ${alive} are alive for the head`);
    this.#forget(lost);
    return {
      "all known to all, s": knownMs / 1000,
      "head's CPU for that, s": weigh(this.#head.pid).cpuSeconds - before,
      "actors lost with them": lost.size,
      "false deaths": this.#daemons.length - alive,
      ...(await this.questions("a smaller cluster")),
      "head's memory, MB": weigh(this.#head.pid).megabytes,
    };
  }

  async killActors(): Promise<Record<string, number>> {
    const before = weigh(this.#head.pid).cpuSeconds;
    const beganMs = performance.now();
    const count = this.#actors.length;
    for (const [index, actor] of this.#actors.entries()) this.#any(index).killActor(actor);
    await this.#until(() => this.#daemons.every(({ actors }) => actors.size === 0), "all actors to be gone");
    await this.#until(() => this.#daemons.every(({ heard }) => heard.processesGone > 0 || heard.frames > 0), "all nodes to hear of them");
    await this.#any(0).ask(MESSAGE.NODES, undefined);
    const tookS = (performance.now() - beganMs) / 1000;
    return {
      "all gone, s": tookS,
      "actors/s": count / tookS,
      "head's CPU each, us": ((weigh(this.#head.pid).cpuSeconds - before) * 1e6) / count,
      "head's memory, MB": weigh(this.#head.pid).megabytes,
      "head's peak memory, MB": weigh(this.#head.pid).peakMegabytes,
    };
  }

  get #nats(): ProcessWeight {
    return weigh(this.#plan.nats?.pid ?? 0);
  }

  #any(index: number): FakeDaemon {
    return this.#daemons[index % this.#daemons.length] as FakeDaemon;
  }

  #newActor(): ActorId {
    const actor = randomHex(16) as ActorId;
    this.#actors.push(actor);
    return actor;
  }

  #forget(lost: ReadonlySet<ActorId>): void {
    const left = this.#actors.filter((actor) => !lost.has(actor));
    this.#actors.splice(0, this.#actors.length, ...left);
  }

  async #times(ask: (daemon: FakeDaemon, index: number) => Promise<unknown>, count = this.#plan.questions): Promise<number[]> {
    const times: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const beganMs = performance.now();
      await ask(this.#any(index * 13), index);
      times.push(performance.now() - beganMs);
    }
    return times;
  }

  async #inParallel(count: number, act: (index: number) => Promise<void>): Promise<void> {
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        await act(next - 1);
      }
    };
    await Promise.all(Array.from({ length: Math.min(count, ACTORS_AT_ONCE) }, work));
  }

  async #until(isSo: () => boolean, what: string): Promise<void> {
    const giveUpAt = performance.now() + WAIT_MAX_MS;
    while (!isSo()) {
      if (performance.now() > giveUpAt) {
        const up = this.#daemons.filter(({ link }) => link.isUp).length;
        const why = new Set(this.#daemons.flatMap(({ heard }) => heard.broken ?? []));
        throw new Error(
          `waited for ${what} in vain: ${up} of ${this.#daemons.length} daemons are connected; ${Array.from(why).join("; ")}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
