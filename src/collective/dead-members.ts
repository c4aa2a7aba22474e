/** Which members of a group will not come any more: those whose actor has died, or lives in another process than the one that joined. */
import { actors } from "../core/api.ts";

interface WatchedMember {
  readonly rank: number;
  /** Undefined for tasks and the driver, which nobody can look up. */
  readonly actorId: string | undefined;
  readonly pid: number;
}

export async function deadAmong(members: readonly WatchedMember[]): Promise<{ rank: number; reason: string }[]> {
  const known = new Map((await actors({ includeDead: true })).map((info) => [info.actorId as string, info]));
  const dead: { rank: number; reason: string }[] = [];
  for (const { rank, actorId, pid } of members) {
    if (actorId === undefined) continue;
    const info = known.get(actorId);
    if (info !== undefined && info.phase !== "dead" && info.phase !== "restarting" && info.pid === pid) continue;
    dead.push({ rank, reason: info?.reason ?? (info === undefined ? "it is not known any more" : "its process was replaced") });
  }
  return dead;
}
