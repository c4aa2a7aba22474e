/**
 * The same among actors, with a ref as the argument: each client puts a number and passes its ref in 1,000 calls, so
 * that every call resolves a dependency that another process owns.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { ActorClientClass, SERVERS_COUNT, SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

const CALLS_PER_CLIENT = 1000;

export const figure: DriverFigure = {
  where: "driver",
  name: "actor-n-to-n-ref",
  title: "actor calls, n:n, with a ref argument",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(20),
  floor: ratioAtLeast(8),
  async run(plan) {
    const clients = Array.from({ length: SERVERS_COUNT }, () => ActorClientClass.remote(SmallValueActorClass.remote()));
    const round = () => get(clients.map((client) => client.callWithRef.remote(CALLS_PER_CLIENT)));
    return operationsPerSecond(round, plan, { operationsPerCall: clients.length * CALLS_PER_CLIENT });
  },
};
