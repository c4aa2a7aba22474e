/**
 * Folder for state that outlives a run on this machine (`$XDG_STATE_HOME/shoal`, by default `~/.local/state/shoal`): the state of heads,
 * and logs.
 */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { folderError } from "./folders/folder-error.ts";
import { homeFolder } from "../user.ts";

export function stateFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const states = environment["XDG_STATE_HOME"];
  return join(states === undefined || states === "" ? join(homeFolder(), ".local", "state") : states, "shoal");
}

/** A folder for the logs of one run; of earlier runs the newest are kept. @throws ShoalError where it cannot be made */
export function newLogFolder(environment: Readonly<Record<string, string | undefined>>, name: string): string {
  const all = join(stateFolder(environment), "logs");
  const folder = join(all, name);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw folderError(error) ?? error;
  }
  const byAge = readdirSync(all)
    .map((run) => ({ path: join(all, run), changedMs: statSync(join(all, run), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.changedMs - a.changedMs);
  for (const { path, changedMs } of byAge.slice(RUNS_KEPT)) {
    if (Date.now() - changedMs > YOUNG_MS) rmSync(path, { recursive: true, force: true });
  }
  return folder;
}

const RUNS_KEPT = 20;
/** Age up to which a run's folder is kept in any case, since a long silent run looks old. */
const YOUNG_MS = 14 * 86_400_000;
