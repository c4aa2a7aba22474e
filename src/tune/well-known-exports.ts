/** Exports of `shoal/tune` that travel by name: those that users import in trainables, and the actor in which trials run. */
import { registerExports } from "../core/internal.ts";
import { TuneError } from "./errors.ts";
import { getCheckpoint, getContext, report } from "./session.ts";
import { TrialActor } from "./processes/trial-actor.ts";

registerExports("shoal/tune", { getCheckpoint, getContext, report, TrialActor, TuneError });
