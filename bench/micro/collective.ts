/**
 * Collective operations among actors of this machine: `node bench/micro/collective.ts [members] [megabytes]`, on the built package.
 *
 * Prints the median and the best time of each operation, from a barrier to the end of the slowest member, and the megabytes of one member's array per second.
 * Ray's own collectives need PyTorch or CuPy, which its environment here has not, so there is no twin.
 */
import { get, init, remote, shutdown } from "shoal";
import { type CollectiveGroup, initCollectiveGroup } from "shoal/util";

const OPERATIONS = ["allreduce", "broadcast", "allgather", "reduceScatter"] as const;
const REPETITIONS = 15;

class Member {
  #group: CollectiveGroup | undefined;

  async init(rank: number, worldSize: number): Promise<void> {
    this.#group = await initCollectiveGroup({ rank, worldSize });
  }

  async measure(operation: (typeof OPERATIONS)[number], sizeBytes: number, repetitions: number): Promise<number[]> {
    const group = this.#group as CollectiveGroup;
    const array = new Float32Array(sizeBytes / 4).fill(1);
    const times: number[] = [];
    for (let repetition = 0; repetition < repetitions; repetition += 1) {
      await group.barrier();
      const start = performance.now();
      await group[operation](array);
      times.push(performance.now() - start);
    }
    return times;
  }
}

const worldSize = Number(process.argv[2] ?? 2);
const megabytes = Number(process.argv[3] ?? 100);
await init();
const MemberActor = remote(Member, { numCpus: 0 });
const members = Array.from({ length: worldSize }, () => MemberActor.remote());
await get(members.map((member, rank) => member.init.remote(rank, worldSize)));
for (const sizeBytes of [4000, 1_000_000, megabytes * 1_000_000]) {
  for (const operation of OPERATIONS) {
    const times = await get(members.map((member) => member.measure.remote(operation, sizeBytes, REPETITIONS)));
    const slowest = Array.from({ length: REPETITIONS }, (_, index) => Math.max(...times.map((list) => list[index] ?? 0)));
    const sorted = slowest.toSorted((left, right) => left - right);
    const [best = 0, median = 0] = [sorted[0], sorted[REPETITIONS >> 1]];
    const rate = (ms: number): string => `${(sizeBytes / 1000 / ms).toFixed(0)} MB/s`;
    console.log(
      `${operation}, ${sizeBytes} bytes, ${worldSize} members: ${median.toFixed(2)} ms (${rate(median)}), best ${best.toFixed(2)} ms (${rate(best)})`,
    );
  }
}
await shutdown();
