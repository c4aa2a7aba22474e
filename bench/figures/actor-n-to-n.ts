/**
 * The throughput of several callers and several actors: four tasks each make 5,000 calls, spread over as many actors
 * as half of the cores. The callers are tasks, so the handles travel as arguments.
 */
import { type ActorHandle, get, remote } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SERVERS_COUNT, type SmallValueActor, SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

const CALLERS_COUNT = 4;
const CALLS_PER_CALLER = 5000;

const callActors = remote(async (servers: ActorHandle<SmallValueActor>[]): Promise<void> => {
  const calls = Array.from({ length: CALLS_PER_CALLER }, (_, index) => servers[index % servers.length]!.smallValue.remote());
  await get(calls);
});

export const figure: DriverFigure = {
  where: "driver",
  name: "actor-n-to-n",
  title: "actor calls, n:n",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(70),
  floor: ratioAtLeast(25),
  async run(plan) {
    const servers = Array.from({ length: SERVERS_COUNT }, () => SmallValueActorClass.remote());
    const round = () => get(Array.from({ length: CALLERS_COUNT }, () => callActors.remote(servers)));
    return operationsPerSecond(round, plan, { operationsPerCall: CALLERS_COUNT * CALLS_PER_CALLER });
  },
};
