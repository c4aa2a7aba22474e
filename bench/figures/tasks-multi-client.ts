/**
 * The throughput of several submitters: four actors each submit 10,000 tasks and get them. One call takes Ray about
 * 20 s on two cores, so the warm-up uses small batches and `--quick` shrinks the batch on both sides alike.
 */
import { get } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { SmallValueActorClass } from "../small-calls.ts";
import { operationsPerSecond } from "../throughput.ts";

const CLIENTS_COUNT = 4;

export const figure: DriverFigure = {
  where: "driver",
  name: "tasks-multi-client",
  title: "tasks from four clients",
  unit: "/s",
  higherIsBetter: true,
  goal: ratioAtLeast(150),
  floor: ratioAtLeast(30),
  async run(plan) {
    const tasksPerClient = plan.quick ? 1000 : 10_000;
    const clients = Array.from({ length: CLIENTS_COUNT }, () => SmallValueActorClass.remote());
    const submit = (count: number) => get(clients.map((client) => client.submitTasks.remote(count)));
    return operationsPerSecond(() => submit(tasksPerClient), plan, {
      operationsPerCall: CLIENTS_COUNT * tasksPerClient,
      warmUp: () => submit(250),
    });
  },
};
