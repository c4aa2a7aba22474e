/**
 * The parts that a simulated program can have, by name; a run has some of them, drawn from its seed.
 */
import type { Random } from "../../soak/random.ts";
import { CancellationPart } from "./cancellations.ts";
import { EnvironmentPart } from "./environments.ts";
import { GroupPart } from "./groups.ts";
import { MemoryPart } from "./memory.ts";
import { NamedActorPart } from "./named-actors.ts";
import { OutboxPart } from "./outbox.ts";
import type { PartContext, ProgramPart } from "./part.ts";
import { RetirementPart } from "./retirements.ts";
import { ScarcePart } from "./scarce.ts";
import { StreamPart } from "./streams.ts";

export const PARTS: Readonly<Record<string, new (context: PartContext) => ProgramPart>> = {
  streams: StreamPart,
  cancellations: CancellationPart,
  groups: GroupPart,
  actors: NamedActorPart,
  environments: EnvironmentPart,
  memory: MemoryPart,
  scarce: ScarcePart,
  outbox: OutboxPart,
  retirements: RetirementPart,
};

/** Random sources of the parts that were added later, so that older seeds keep their meaning where no later part is drawn. */
interface LaterSources {
  readonly later: Random;
  readonly last: Random;
}

export function drawParts(random: Random, { later, last }: LaterSources): string[] {
  const chance = random.pick([0.3, 0.6]);
  return Object.keys(PARTS).filter((name) => {
    if (name === "scarce") return later.next() < 0.3;
    if (name === "outbox" || name === "retirements") return last.next() < 0.3;
    return random.next() < chance;
  });
}
