/**
 * Networks that are cut between two machines, or in one direction, while both reach all others: nodes and the head, and a driver's node and
 * the actor's node.
 *
 * Three nodes at once are cut from the head in three ways, so that there are six: a head that loses most nodes takes none for dead. Runs as
 * the first process of new namespaces (`network.ts`). Prints its observations as one line of JSON. All waiting is for what happens, or for
 * time that a cut has to take.
 */
import { readdirSync } from "node:fs";
import { nowMs } from "../../../chaos/clock.ts";
import { twoLives, wrongCalls } from "../../../chaos/checks.ts";
import { readWitnesses } from "../../../chaos/witness.ts";
import {
  addressOf,
  ANSWERS,
  type Answer,
  answers,
  FOLDER,
  isHeard,
  LOGS,
  makeNetwork,
  Running,
  silence,
  sleep,
  whatIsLeft,
} from "./network.ts";

/** Observations for the test. */
export interface Directions {
  /** Whether the kernel passed on packets in each direction while `b` could not hear `a`. */
  readonly oneWay: { readonly there: boolean; readonly back: boolean };
  /** Processes that each actor had had after cuts that were short. */
  readonly livesAfterShortCuts: Readonly<Record<string, number>>;
  /** Answered calls that began while the actor's node and the driver's did not hear each other, or one did not hear the other. */
  readonly answeredBehindCut: Readonly<Record<string, number>>;
  /** The same after cuts of their nodes from the head, or of one from the driver's, until the first three were taken for dead. */
  readonly livesAfterLongCuts: Readonly<Record<string, number>>;
  readonly twoLives: readonly string[];
  readonly wrongCalls: readonly string[];
  /** Texts of the failed calls' errors, each once. */
  readonly errors: Readonly<Record<string, readonly string[]>>;
  /** How the nodes that the head did not hear ended. */
  readonly ended: readonly string[];
  /** Actors that were not answered any more when all was as before. */
  readonly silent: readonly string[];
  readonly left: readonly string[];
}

const SHORT_CUT_MS = 1500;
/** Longer than the silence that the head calls death. No longer: the kernel tries again after 12.6 s, and then after 25.4 s. */
const DEATH_MS = 11_000;
const WITHIN_MS = 40_000;
/** Answers that show that an actor is reached. */
const ENOUGH = 10;

const NODES = ["a", "b", "c", "d", "e", "f"];
/** The last letter is the node. */
const ACTORS = ["both-b", "once-b", "out-c", "in-d", "once-d", "driver-e"];
const CUT_OFF = ACTORS.slice(0, -1);

type Pair = readonly [from: string, to: string];
const FROM_HEAD: readonly Pair[] = [
  ["b", "head"],
  ["head", "b"],
  ["c", "head"],
  ["head", "d"],
];
const FROM_DRIVER: readonly Pair[] = [
  ["a", "b"],
  ["c", "a"],
];

async function until(condition: () => boolean): Promise<void> {
  const giveUpMs = nowMs() + WITHIN_MS;
  while (!condition() && nowMs() < giveUpMs) await sleep(20);
}

/** Returns the calls that began and were answered in a time. */
function answersOf(actor: string, fromMs: number, toMs = Infinity): Answer[] {
  return answers().filter(
    (answer) => answer.actor === actor && answer.error === undefined && answer.beginMs >= fromMs && answer.endMs <= toMs,
  );
}

async function untilAnswered(actors: readonly string[], fromMs: number): Promise<string[]> {
  const silent = (): string[] => actors.filter((actor) => answersOf(actor, fromMs).length < ENOUGH);
  await until(() => silent().length === 0);
  return silent();
}

function lives(): Record<string, number> {
  const files = readdirSync(LOGS);
  return Object.fromEntries(ACTORS.map((actor) => [actor, files.filter((file) => file.startsWith(actor)).length]));
}

/** Compares the driver's answers with the actors' own logs. */
function judged(): Pick<Directions, "twoLives" | "wrongCalls" | "errors"> {
  const witnesses = readWitnesses(LOGS);
  const answered = new Map(ACTORS.map((actor) => [actor, new Set(answersOf(actor, 0).map(({ call }) => call))]));
  const once = new Set(ACTORS.filter((actor) => actor.startsWith("once")));
  const errors = Object.fromEntries(
    ACTORS.map((name) => [name, Array.from(new Set(answers().flatMap(({ actor, error }) => (actor === name ? (error ?? []) : []))))]),
  );
  return { twoLives: twoLives(witnesses, []), wrongCalls: wrongCalls(witnesses, { answered, once, killedMs: new Map() }), errors };
}

async function isOneWay(): Promise<Directions["oneWay"]> {
  const oneWay = { there: true, back: false };
  await silence([["a", "b"]], async () => {
    oneWay.there = await isHeard("a", "b");
    oneWay.back = await isHeard("b", "a");
  });
  return oneWay;
}

/** For as long as those who can be reached have answered again, and for a while in any case. */
async function cutShortly(pairs: readonly Pair[], reached: readonly string[]): Promise<{ fromMs: number; toMs: number }> {
  let fromMs = 0;
  let toMs = 0;
  await silence(pairs, async () => {
    fromMs = nowMs();
    await untilAnswered(reached, fromMs);
    await sleep(fromMs + SHORT_CUT_MS - nowMs());
    toMs = nowMs();
  });
  await untilAnswered(ACTORS, nowMs());
  return { fromMs, toMs };
}

async function main(): Promise<Directions> {
  makeNetwork(["head", ...NODES]);
  const head = new Running("head", { kind: "head", address: `tcp://${addressOf("head")}:7000`, directory: `${FOLDER}/head` });
  const { address = "", joinToken = "" } = await head.next();
  const nodes = NODES.map((host) => new Running(host, { kind: "node", headAddress: address, joinToken, host: addressOf(host) }));
  const ids = await Promise.all(nodes.map((node) => node.next()));
  const idOf = (actor: string): string => ids[NODES.indexOf(actor.at(-1) ?? "")]?.["nodeId"] ?? "";
  const actors = ACTORS.map((name) => ({ name, nodeId: idOf(name), once: name.startsWith("once") }));
  const driver = new Running("a", { kind: "driver", address, actors, logs: LOGS, answers: ANSWERS });
  await driver.next();
  await untilAnswered(ACTORS, 0);

  const oneWay = await isOneWay();
  await cutShortly(FROM_HEAD, ACTORS);
  const { fromMs, toMs } = await cutShortly(FROM_DRIVER, ["in-d", "once-d", "driver-e"]);
  const behind = ["both-b", "once-b", "out-c"].map((actor) => [actor, answersOf(actor, fromMs, toMs).length]);
  const livesAfterShortCuts = lives();

  await silence(FROM_HEAD, async () => {
    await silence([["a", "e"]], () => sleep(DEATH_MS));
    await until(() => CUT_OFF.every((actor) => (lives()[actor] ?? 0) > 1));
    await untilAnswered(CUT_OFF, nowMs());
  });
  const silent = await untilAnswered(ACTORS, nowMs());
  const ended = await Promise.all(
    nodes.slice(1, 4).map(async (node) => {
      const last = await node.next(WITHIN_MS).catch(() => ({ ended: "not at all" }));
      return last["ended"] ?? "";
    }),
  );
  await driver.end();
  const answeredBehindCut = Object.fromEntries(behind) as Record<string, number>;
  const seen = { oneWay, livesAfterShortCuts, answeredBehindCut, livesAfterLongCuts: lives(), ended, silent, ...judged() };
  await Promise.all(nodes.map((node) => node.end()));
  await head.end();
  return { ...seen, left: await whatIsLeft() };
}

process.stdout.write(`${JSON.stringify(await main())}\n`);
process.exit(0);
