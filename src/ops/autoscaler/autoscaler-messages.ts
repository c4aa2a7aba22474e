/**
 * The messages between the autoscaler, or a command, and the head's extension `autoscaler`.
 *
 * Steps carry the fence of the autoscaler that makes them. Lists of instances are read in pages. Reports are for people: nothing is decided
 * from their texts.
 */
import { count, fields, flag, list, number, orUndefined, text } from "../../runtime/wire/header-shape.ts";
import { instanceShape } from "./instances/instance.ts";

export const AUTOSCALER_EXTENSION = "autoscaler";

/** The acting autoscaler's report, for people. */
export const autoscalerReport = fields({
  /** When it was made, in milliseconds since 1970. */
  atMs: number,
  /** Node types with their numbers, in the order of the cluster file. */
  types: list(fields({ name: text, running: count, coming: count, leaving: count, maxWorkers: count, problem: orUndefined(text) })),
  /** Demands with the fate of each. */
  demands: list(fields({ what: text, count, verdict: text })),
  /** Why the last step failed. */
  problem: orUndefined(text),
});

export const autoscalerMessages = {
  /** Asks for the right to act; answered with nothing while another acts. */
  acquire: { asks: fields({ owner: text }), answers: orUndefined(count) },
  /** Records steps of instances. */
  commit: { asks: fields({ fence: count, steps: list(instanceShape) }), answers: count },
  /** Reads instances by pages. */
  page: { asks: fields({ after: text, limit: count }), answers: list(instanceShape) },
  /** Sets the cluster file. With `ifNone` an existing one stays. */
  configure: { asks: fields({ text, ifNone: flag }), answers: count },
  config: { asks: fields({}), answers: fields({ version: count, text }) },
  report: { asks: autoscalerReport, answers: flag },
  status: { asks: fields({}), answers: orUndefined(autoscalerReport) },
} as const;
