/**
 * `npm run chaos`: a cluster on this machine under a seed's faults, and what has to hold all the while. Exit code 1 where anything does not.
 *
 * The seed decides which faults come and what is submitted; the machine decides what they meet.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { init, shutdown } from "shoal";
import { OptionError, runTool, type ToolValues, wholeNumber } from "../scripts/tool.ts";
import { DEATHS, dieInBulk, OF_PYTHON, WORKS } from "./deaths.ts";
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
  --deaths N      end N workers in each way under each kind of work, and nothing else
  --help          this text
`;

const OPTIONS = {
  faults: { type: "string", default: "100" },
  seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  "pause-ms": { type: "string", default: "15000" },
  nats: { type: "string", default: "1" },
  heads: { type: "string", default: "1" },
  kinds: { type: "string" },
  deaths: { type: "string" },
} as const;

async function chaos(values: ToolValues<typeof OPTIONS>): Promise<number> {
  if (values.deaths !== undefined) return await inBulk(wholeNumber("deaths", values.deaths, { min: 1 }));
  const settings = {
    faults: wholeNumber("faults", values.faults),
    seed: wholeNumber("seed", values.seed),
    pauseMaxMs: wholeNumber("pause-ms", values["pause-ms"]),
  };
  const nats = wholeNumber("nats", values.nats);
  if (nats !== 0 && nats !== 1 && nats !== 3) throw new OptionError(`Cannot use --nats: 0, 1 or 3 is needed: received ${nats}`);
  const heads = wholeNumber("heads", values.heads, { min: 1 });
  if (heads > 1 && nats === 0) throw new OptionError("Cannot use --heads: several heads need NATS: received --nats 0");
  const kinds = values.kinds === undefined ? kindsWith(nats) : kindsOf(values.kinds);
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  print(
    `seed ${settings.seed}: ${settings.faults} faults, pauses of up to ${settings.pauseMaxMs} ms, ${nats} servers of NATS, ${heads} heads`,
  );
  const { problems, summary } = await runChaos({ ...settings, kinds, nats, heads, print });
  for (const line of summary) print(line);
  print(problems.length === 0 ? "chaos passed" : `chaos failed: ${problems.length} problems (seed ${settings.seed})`);
  return problems.length === 0 ? 0 : 1;
}

/** Ends workers with 1,000 calls under way. */
async function inBulk(deaths: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-deaths-"));
  let count = 0;
  await init({ numCpus: 2, logToDriver: false });
  try {
    for (const work of WORKS) {
      for (const death of work === "Python" ? OF_PYTHON : DEATHS) {
        const problems = await dieInBulk({ work, death, deaths, calls: 1000, folder });
        count += problems.length;
        process.stdout.write(`${work}, ${death}: ${deaths} deaths, ${problems.length} problems\n`);
        for (const problem of problems.slice(0, 10)) process.stdout.write(`  ${problem}\n`);
      }
    }
  } finally {
    await shutdown();
    rmSync(folder, { recursive: true, force: true });
  }
  return count === 0 ? 0 : 1;
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
    if (found === undefined) throw new OptionError(`Cannot use --kinds: one of ${FAULT_KINDS.join(", ")} is needed: received ${kind}`);
    return found;
  });
}

process.exitCode = await runTool({ command: "npm run chaos", usage: USAGE, options: OPTIONS, run: chaos });
