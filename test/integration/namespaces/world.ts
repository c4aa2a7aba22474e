/**
 * Machines that are cut off from all others: first the head, then a node for a moment, then the same node until it is taken for dead.
 *
 * Runs as the first process of new namespaces (`network.ts`). Prints its observations as one line of JSON.
 */
import { nowMs } from "../../../chaos/clock.ts";
import { twoLives } from "../../../chaos/checks.ts";
import { readWitnesses } from "../../../chaos/witness.ts";
import { addressOf, ANSWERS, answers, cut, FOLDER, LOGS, makeNetwork, Running, sleep, whatIsLeft } from "./network.ts";

/** Observations for the test. */
export interface Seen {
  /** Calls between two nodes that began and were answered while the head was cut off. */
  readonly answeredWithoutHead: number;
  /** Processes that the actor had had after a short cut of the actor's node. */
  readonly livesAfterShortCut: number;
  /** From the cut to the first answer from elsewhere. */
  readonly backMs: number;
  readonly twoLives: readonly string[];
  /** How the node that was taken for dead ended when it was heard again. */
  readonly ended: string;
  readonly left: readonly string[];
}

const HEAD_CUT_MS = 3000;
const SHORT_CUT_MS = 1500;
/** Answers that show that an actor is reached. */
const ENOUGH = 10;
const BACK_WITHIN_MS = 30_000;
const ENDED_WITHIN_MS = 20_000;

function answeredSince(fromMs: number): number {
  return answers().filter(({ beginMs, error }) => beginMs > fromMs && error === undefined).length;
}

async function untilAnswered(count: number, fromMs: number): Promise<void> {
  const giveUpMs = nowMs() + BACK_WITHIN_MS;
  while (answeredSince(fromMs) < count && nowMs() < giveUpMs) await sleep(20);
}

function lives(): number {
  return readWitnesses(LOGS).get("actor-0")?.length ?? 0;
}

async function main(): Promise<Seen> {
  makeNetwork(["head", "a", "b", "c"]);
  const head = new Running("head", { kind: "head", address: `tcp://${addressOf("head")}:7000`, directory: `${FOLDER}/head` });
  const { address = "", joinToken = "" } = await head.next();
  const nodes = ["a", "b", "c"].map((host) => new Running(host, { kind: "node", headAddress: address, joinToken, host: addressOf(host) }));
  const [, b] = nodes;
  const ids = await Promise.all(nodes.map((node) => node.next()));
  const actors = [{ name: "actor-0", nodeId: ids[1]?.["nodeId"] ?? "" }];
  const driver = new Running("a", { kind: "driver", address, actors, logs: LOGS, answers: ANSWERS });
  await driver.next();
  await untilAnswered(ENOUGH, 0);

  let answeredWithoutHead = 0;
  await cut("head", async () => {
    const fromMs = nowMs();
    await sleep(HEAD_CUT_MS);
    answeredWithoutHead = answeredSince(fromMs);
  });
  // The links to the head are up again.
  await sleep(2000);
  await cut("b", () => sleep(SHORT_CUT_MS));
  await untilAnswered(ENOUGH, nowMs());
  const livesAfterShortCut = lives();

  let backMs = Infinity;
  await cut("b", async () => {
    const fromMs = nowMs();
    while (lives() === livesAfterShortCut && nowMs() < fromMs + BACK_WITHIN_MS) await sleep(20);
    const againMs = nowMs();
    await untilAnswered(1, againMs);
    backMs = (answers().find(({ beginMs }) => beginMs > againMs)?.endMs ?? Infinity) - fromMs;
    await sleep(1000);
  });
  const last = await (b as Running).next(ENDED_WITHIN_MS).catch(() => ({ ended: "not at all" }));
  const problems = twoLives(readWitnesses(LOGS), []);
  await driver.end();
  await Promise.all(nodes.map((node) => node.end()));
  await head.end();
  const left = await whatIsLeft();
  return { answeredWithoutHead, livesAfterShortCut, backMs, twoLives: problems, ended: last["ended"] ?? "", left };
}

process.stdout.write(`${JSON.stringify(await main())}\n`);
process.exit(0);
