/**
 * The parts that a simulated program can have, by name; a run has some of them, drawn from its seed.
 */
import type { Random } from "../../soak/random.ts";
import { CancellationPart } from "./cancellations.ts";
import { EnvironmentPart } from "./environments.ts";
import { GroupPart } from "./groups.ts";
import { MemoryPart } from "./memory.ts";
import { NamedActorPart } from "./named-actors.ts";
import { ScarcePart } from "./scarce.ts";
import type { PartContext, ProgramPart } from "./part.ts";
import { StreamPart } from "./streams.ts";

export const PARTS: Readonly<Record<string, new (context: PartContext) => ProgramPart>> = {
  streams: StreamPart,
  cancellations: CancellationPart,
  groups: GroupPart,
  actors: NamedActorPart,
  environments: EnvironmentPart,
  memory: MemoryPart,
  scarce: ScarcePart,
};

/** `later`: from where the parts are drawn that came after the others, whose seeds mean what they meant where none of these is drawn. */
export function drawParts(random: Random, later: Random): string[] {
  const chance = random.pick([0.3, 0.6]);
  return Object.keys(PARTS).filter((name) => (name === "scarce" ? later.next() < 0.3 : random.next() < chance));
}
