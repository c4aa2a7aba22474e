/**
 * `npm run scale`: what grows with a cluster, and how much.
 *
 * Each part is a table; `--json FILE` writes all of them. The parts that are simulated run anywhere; `daemons` needs nats-server and a file descriptor for each daemon. Exit code 1 where
 * something is wrong and not only slow.
 */
import { runTool, type ToolValues, wholeNumber } from "../scripts/tool.ts";
import { growDetector } from "../sim/detector-growth.ts";
import { runFakeDaemons } from "./fake-daemons.ts";
import { startNats } from "./nats.ts";
import { queuedTasks } from "./queued-tasks.ts";
import { realActors } from "./real-actors.ts";
import { Report, spread } from "./report.ts";
import { headCurvePoint, rowOf } from "./virtual-head.ts";

const USAGE = `Usage: npm run scale -- [PART...] [options]

Parts (all of them where none is named):
  head        the head in simulation: its time for each event, and its memory, by the number of nodes
  detector    the failure detector in simulation
  daemons     a real head and nats-server with fake daemons: joining, rest, questions, actors, deaths
  actors      real actors, in one process and on two nodes
  tasks       queued tasks on one node and on two

Options:
  --nodes N,N...       sizes for head and detector (default 10,100,1000,10000)
  --fake-daemons N     for daemons (default 1000)
  --deaths N           of the fake daemons, at once (default a tenth)
  --fake-actors N      on the fake daemons (default 10000)
  --no-nats            the head of daemons keeps its tables in memory
  --tasks N,N...       (default 10000,100000,1000000)
  --actors N           real ones on two nodes; in one process ten thousand (default 50)
  --json FILE          writes all tables
  --help               this text
`;

const PARTS = ["head", "detector", "daemons", "actors", "tasks"] as const;
type Part = (typeof PARTS)[number];

const OPTIONS = {
  nodes: { type: "string", default: "10,100,1000,10000" },
  "fake-daemons": { type: "string", default: "1000" },
  deaths: { type: "string" },
  "fake-actors": { type: "string", default: "10000" },
  "no-nats": { type: "boolean", default: false },
  tasks: { type: "string", default: "10000,100000,1000000" },
  actors: { type: "string", default: "50" },
  json: { type: "string" },
} as const;

type Values = ToolValues<typeof OPTIONS>;

interface Sizes {
  readonly nodes: readonly number[];
  readonly daemons: number;
  readonly deaths: number;
  readonly fakeActors: number;
  readonly hasNats: boolean;
  readonly tasks: readonly number[];
  readonly actors: number;
}

/** @throws OptionError */
function sizesOf(values: Values): Sizes {
  const many = (option: "nodes" | "tasks"): number[] => values[option].split(",").map((text) => wholeNumber(option, text, { min: 1 }));
  const daemons = wholeNumber("fake-daemons", values["fake-daemons"], { min: 1 });
  return {
    nodes: many("nodes"),
    daemons,
    deaths: values.deaths === undefined ? Math.floor(daemons / 10) : wholeNumber("deaths", values.deaths, { max: daemons }),
    fakeActors: wholeNumber("fake-actors", values["fake-actors"]),
    hasNats: !values["no-nats"],
    tasks: many("tasks"),
    actors: wholeNumber("actors", values.actors),
  };
}

const report = new Report();
const RUNS: Record<Part, (sizes: Sizes) => Promise<void>> = {
  async head({ nodes }) {
    const rows = [];
    // Warms up the compiler: the cost of compilation belongs to no figure.
    await headCurvePoint(100);
    for (const size of nodes) rows.push(rowOf(await headCurvePoint(size)));
    report.add("the head with virtual nodes: microseconds for an event (messages to nodes)", rows);
  },
  async detector({ nodes: sizes }) {
    const rows = sizes.map((nodes) => {
      const found = growDetector({ nodes, minutes: 2, seed: 1 });
      return {
        nodes,
        "us/heartbeat": found.microsecondsPerHeartbeat,
        "us/tick": found.tickMicroseconds,
        "killed, noticed p50 s": spread(found.killedNoticedMs).p50 / 1000,
        "silent, noticed p50 s": spread(found.silencedNoticedMs).p50 / 1000,
        "false deaths": found.falseDeaths,
      };
    });
    report.add("the failure detector in simulation", rows);
  },
  async daemons({ daemons, deaths, fakeActors: actors, hasNats }) {
    await using nats = hasNats ? await startNats() : undefined;
    await runFakeDaemons({ daemons, deaths, actors, restMs: 5_000, questions: 1_000, nats }, report);
  },
  async actors({ actors }) {
    report.add("real actors", await realActors(10_000, actors));
  },
  async tasks({ tasks: counts }) {
    report.add("queued tasks", [...(await queuedTasks(1, counts)), ...(await queuedTasks(2, counts))]);
  },
};

process.exitCode = await runTool({
  command: "npm run scale",
  usage: USAGE,
  options: OPTIONS,
  words: PARTS,
  run: async (values, words) => {
    const sizes = sizesOf(values);
    for (const part of words.length === 0 ? PARTS : (words as Part[])) await RUNS[part](sizes);
    if (values.json !== undefined) report.save(values.json);
    return 0;
  },
});
