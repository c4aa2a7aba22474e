/**
 * `npm run chaos`: a cluster on this machine under a seed's faults, and what has to hold all the while. Exit code 1 where anything does not.
 *
 * The seed decides which faults come and what is submitted; the machine decides what they meet.
 */
import { parseArgs } from "node:util";
import { FAULT_KINDS, type FaultKind } from "./faults.ts";
import { runChaos } from "./run.ts";

const USAGE = `Usage: npm run chaos -- [options]

Kills, stops and cuts off the processes of a cluster, and checks that no actor lives
twice, nothing acknowledged is lost, every ref ends and nothing is left behind. Linux.

  --faults N      how many (default 100)
  --seed N        which ones, and what is submitted (default: drawn, and printed)
  --pause-ms N    the longest pause or cut (default 15,000)
  --nats N        servers of NATS under the head: 1, or 3 with TLS, or 0 (default 1)
  --heads N       of which one leads and the others take over; more than 1 with NATS only (default 1)
  --kinds A,B     only these: ${FAULT_KINDS.join(", ")}
  --help          this text
`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      faults: { type: "string", default: "100" },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      "pause-ms": { type: "string", default: "15000" },
      nats: { type: "string", default: "1" },
      heads: { type: "string", default: "1" },
      kinds: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const settings = {
    faults: numberOf("faults", values.faults),
    seed: numberOf("seed", values.seed),
    pauseMaxMs: numberOf("pause-ms", values["pause-ms"]),
  };
  const nats = numberOf("nats", values.nats);
  if (nats !== 0 && nats !== 1 && nats !== 3) throw new RangeError(`Cannot use --nats: 0, 1 or 3 is needed: received ${nats}`);
  const heads = numberOf("heads", values.heads);
  const kinds = values.kinds === undefined ? kindsWith(nats) : kindsOf(values.kinds);
  print(
    `seed ${settings.seed}: ${settings.faults} faults, pauses of up to ${settings.pauseMaxMs} ms, ${nats} servers of NATS, ${heads} heads`,
  );
  const { problems, summary } = await runChaos({ ...settings, kinds, nats, heads, print });
  for (const line of summary) print(line);
  print(problems.length === 0 ? "chaos passed" : `chaos failed: ${problems.length} problems (seed ${settings.seed})`);
  return problems.length === 0 ? 0 : 1;
}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (!(Number.isInteger(value) && value >= 0))
    throw new RangeError(`Cannot use --${name}: a whole number from 0 is needed: received ${text}`);
  return value;
}

/** Without NATS a head that dies takes its tables with it; one server is all of them. */
function kindsWith(nats: number): FaultKind[] {
  return FAULT_KINDS.filter((kind) => {
    if (kind.includes("all NATS")) return nats > 1;
    return nats > 0 || !(kind.endsWith("NATS") || kind.startsWith("kill head"));
  });
}

function kindsOf(text: string): FaultKind[] {
  return text.split(",").map((kind) => {
    const found = FAULT_KINDS.find((known) => known === kind.trim());
    if (found === undefined) throw new RangeError(`Cannot use --kinds: one of ${FAULT_KINDS.join(", ")} is needed: received ${kind}`);
    return found;
  });
}

process.exitCode = await main();
