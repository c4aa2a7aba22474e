/**
 * Bytes from node to node: 100 MB that the driver has put are read by an actor on the other node, each time another object.
 * The details have the rate of a plain socket between two processes here, in the same minute: no transfer over TCP can be faster.
 */
import { get, put, remote } from "shoal";
import { type DriverFigure, ratioAtLeast } from "../figure.ts";
import { plainSocketBytesPerSecond } from "../plain-socket.ts";
import { ON_SECOND } from "../two-nodes.ts";

const SIZE_BYTES = 100_000_000;

class Reader {
  async read(box: { ref: PromiseLike<Uint8Array> }): Promise<number> {
    return (await box.ref)[SIZE_BYTES - 1] ?? -1;
  }
}

export const figure: DriverFigure = {
  where: "driver",
  nodes: 2,
  name: "cluster-transfer",
  title: "two nodes: get of 100 MB from the other",
  unit: "GB/s",
  higherIsBetter: true,
  goal: ratioAtLeast(1),
  floor: null,
  async run(plan) {
    const reader = remote(Reader).options(ON_SECOND).remote();
    const samples: number[] = [];
    const readsCount = plan.quick ? 3 : 10;
    for (let index = 0; index <= readsCount; index++) {
      const ref = put(new Uint8Array(SIZE_BYTES).fill(index));
      const startedAtMs = performance.now();
      if ((await get(reader.read.remote({ ref }))) !== index) throw new Error("the object was not what was put");
      // The first one makes the files that the others use again.
      if (index > 0) samples.push(SIZE_BYTES / (performance.now() - startedAtMs) / 1e6);
      ref[Symbol.dispose]();
    }
    const plain = await plainSocketBytesPerSecond({ sizeBytes: SIZE_BYTES, chunkBytes: 1024 * 1024 });
    return { samples, details: { plainSocketGigabytesPerSecond: Number((plain / 1e9).toFixed(2)) } };
  },
};
