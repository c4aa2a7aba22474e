/**
 * The parts that a simulated program can have, by name; a run has some of them, drawn from its seed.
 */
import type { Random } from "../../soak/random.ts";
import { CancellationPart } from "./cancellations.ts";
import { EnvironmentPart } from "./environments.ts";
import { GroupPart } from "./groups.ts";
import { MemoryPart } from "./memory.ts";
import { NamedActorPart } from "./named-actors.ts";
import type { PartSurroundings, ProgramPart } from "./part.ts";
import { StreamPart } from "./streams.ts";

export const PARTS: Readonly<Record<string, new (around: PartSurroundings) => ProgramPart>> = {
  streams: StreamPart,
  cancellations: CancellationPart,
  groups: GroupPart,
  actors: NamedActorPart,
  environments: EnvironmentPart,
  memory: MemoryPart,
};

export function drawParts(random: Random): string[] {
  const chance = random.pick([0.3, 0.6]);
  return Object.keys(PARTS).filter(() => random.next() < chance);
}
