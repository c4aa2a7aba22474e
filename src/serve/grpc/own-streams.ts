/**
 * How many streams of the proxy's own services each connection of gRPC has: watches of health, and reflection.
 *
 * Pure. No queue of an application bounds them, and they never end by themselves, so one client could fill the proxy with them. Called by `grpc-front.ts`.
 */
import { GRPC_OWN_STREAMS_MAX } from "../limits.ts";

export class OwnStreams {
  readonly #counts = new Map<string, number>();

  /** @param peer address and port of the client @returns whether the stream may begin: then `ended` follows */
  begin(peer: string): boolean {
    const count = this.#counts.get(peer) ?? 0;
    if (count >= GRPC_OWN_STREAMS_MAX) return false;
    this.#counts.set(peer, count + 1);
    return true;
  }

  ended(peer: string): void {
    const count = (this.#counts.get(peer) ?? 0) - 1;
    if (count > 0) this.#counts.set(peer, count);
    else this.#counts.delete(peer);
  }
}
