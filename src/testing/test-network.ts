/**
 * The network of a test cluster: a host for each node, and the cuts between them.
 *
 * Hosts are addresses of the loopback network (127.0.0.1 for the head, 127.0.0.2 and on for nodes), which Linux has without being asked;
 * elsewhere all share one and cannot be told apart. The cuts are written to a file that the cluster's processes read
 * (`runtime/os/network/network-faults.ts`).
 */
import { ShoalError } from "../runtime/base/errors.ts";
import { hasManyLoopbackHosts, type NetworkFaultsPlace, type Silence, writeSilences } from "../runtime/os/network/network-faults.ts";
import { joinPath } from "../runtime/os/files/paths.ts";

/** Hosts have their own from 127.0.0.1 to 127.0.255.254. */
const HOSTS_MAX = 255 * 254;

export class TestNetwork {
  readonly #file: string;
  readonly #isDivisible = hasManyLoopbackHosts();
  #hosts = 0;
  #silences: Silence[] = [];

  constructor(folder: string) {
    this.#file = joinPath(folder, "network");
  }

  /** For one more process, with its children. */
  newHost(): string {
    if (!this.#isDivisible) return "127.0.0.1";
    const index = this.#hosts % HOSTS_MAX;
    this.#hosts += 1;
    return `127.0.${Math.floor(index / 254)}.${(index % 254) + 1}`;
  }

  placeOf(host: string): NetworkFaultsPlace | undefined {
    return this.#isDivisible ? { host, file: this.#file } : undefined;
  }

  /** Adds to the existing cuts. */
  async cut(from: readonly string[], to: readonly string[], { oneWay }: { oneWay: boolean }): Promise<void> {
    if (!this.#isDivisible) {
      throw new ShoalError("Cannot cut the network of a test cluster: this system has one loopback address", {
        reason: "one loopback address",
        hint: "Run this test on Linux.",
      });
    }
    for (const a of from) {
      for (const b of to) {
        this.#silences.push([a, b]);
        if (!oneWay) this.#silences.push([b, a]);
      }
    }
    await writeSilences(this.#file, this.#silences);
  }

  async heal(): Promise<void> {
    if (this.#silences.length === 0) return;
    this.#silences = [];
    await writeSilences(this.#file, []);
  }
}
