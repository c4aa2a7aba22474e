/**
 * Finds all parts of a value that cannot be sent to another process, with the path to each (`inspectSerializability`).
 *
 * Walks the value as sending it would (`runtime/closure/capture.ts`), but sends nothing, counts no reference and needs no running node. References,
 * handles and errors always travel; remote functions and registered classes are looked into. Limits on size are not checked here.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { isRegisteredError, toWire } from "../../runtime/base/errors.ts";
import { findUnsendable, type Unsendable } from "../../runtime/closure/capture.ts";
import type { Reduced } from "../../runtime/wire/value/encode.ts";
import { actorClassState } from "../actors/actor-class.ts";
import { actorHandleState } from "../actors/actor-handle.ts";
import { isObjectRef } from "./object-ref.ts";
import { registeredFor } from "./values/registered-serializers.ts";
import { temporalPayload } from "./values/temporal-values.ts";
import { remoteFunctionState } from "../calls/definitions/remote-function.ts";
import { KIND } from "../serializer.ts";

/** The findings of `inspectSerializability`. `console.log` and `String()` show them as a tree. */
export interface SerializabilityReport {
  readonly isSerializable: boolean;
  /** Each part that cannot be sent, as it was met. */
  readonly problems: readonly Unsendable[];
  toString(): string;
}

/**
 * Looks for everything in a value that cannot be sent to a task or an actor. Nothing is sent and nothing is started.
 *
 * @example
 * console.log(inspectSerializability({ file: createReadStream("data") }, "options"));
 * // options cannot be sent to another process: 1 problem
 * //   .file (ReadStream) cannot be sent
 */
export function inspectSerializability(value: unknown, name?: string): SerializabilityReport {
  if (name !== undefined && typeof name !== "string")
    throw new TypeError(`Cannot inspect a value: its name must be text: received ${describeValue(name)}`);
  const label = name ?? (typeof value === "function" && value.name !== "" ? `function ${value.name}` : "value");
  const problems = findProblems(value, label);
  const report = { isSerializable: problems.length === 0, problems };
  const text = (): string => describeReport(label, problems);
  Object.defineProperty(report, "toString", { value: text });
  Object.defineProperty(report, Symbol.for("nodejs.util.inspect.custom"), { value: text });
  return report;
}

/** Finds the parts of a report. */
export function findProblems(value: unknown, label: string | (() => string)): Unsendable[] {
  return findUnsendable(value, { reduce }, label);
}

function reduce(value: object | symbol): Reduced | undefined {
  if (typeof value === "symbol") return undefined;
  if (isObjectRef(value)) return { kind: KIND.REF, payload: 0 };
  if (isRegisteredError(value)) return { kind: KIND.SHOAL_ERROR, payload: toWire(value) };
  if (actorHandleState(value) !== undefined) return { kind: KIND.ACTOR, payload: 0 };
  if (temporalPayload(value) !== undefined) return { kind: KIND.TEMPORAL, payload: 0 };
  const remote = remoteFunctionState(value) ?? actorClassState(value);
  if (remote !== undefined) return { kind: KIND.REMOTE_FUNCTION, payload: remote.source };
  const registered = registeredFor(value);
  return registered === undefined ? undefined : { kind: KIND.REGISTERED, payload: [registered.deserialize, registered.serialize(value)] };
}

function describeReport(label: string, problems: readonly Unsendable[]): string {
  if (problems.length === 0) return `${label} can be sent to another process`;
  const lines = [`${label} cannot be sent to another process: ${problems.length} problem${problems.length === 1 ? "" : "s"}`];
  let shown: readonly string[] = [];
  for (const { path, problem, hint } of problems) {
    // The first step is the whole value, which the first line names; it is shown where it is itself the problem.
    const steps = path.length === 1 ? path : path.slice(1);
    const last = steps.length - 1;
    // Steps shared with the path before are in the tree already; the last step always comes.
    let depth = 0;
    while (depth < last && steps[depth] === shown[depth]) depth += 1;
    for (; depth <= last; depth += 1) lines.push(`${indent(depth)}${steps[depth]}${depth === last ? ` ${problem}` : ""}`);
    if (hint !== undefined) lines.push(`${indent(last + 1)}${hint}`);
    shown = steps;
  }
  return lines.join("\n");
}

function indent(depth: number): string {
  return "  ".repeat(depth + 1);
}
