/**
 * Failures of calls as callers of a deployment see them: by the names of the deployment and its method.
 *
 * The core names the actor's method that carried the call, and shows frames of the replica around the user's own. Called by `deployment-handle.ts`, with errors that no one else
 * holds: an error is changed in place, so that its class and its fields stay.
 */
import { ShoalError } from "../../core/index.ts";

const INNER_CALL = /\bReplica\.(?:call|callInTurn|stream)\b/g;
const CALL_BEFORE = /, behind Replica\.\w+/g;
/** Methods of the replica, and the function that it makes of a method of the user's object. */
const INNER_FRAME = /^\s+at (?:async )?(?:Replica\.|(?:Object\.)?bound \()/;

/** @param name of the call, such as `Model.predict` */
export function nameCall(error: unknown, name: string): unknown {
  if (!(error instanceof ShoalError)) return error;
  const named = (text: string): string => text.replaceAll(CALL_BEFORE, "").replaceAll(INNER_CALL, name);
  const isInner = error.message !== named(error.message);
  replace(error, "message", named(error.message));
  for (const key of ["stack", "remoteStack"] as const) {
    const text = (error as { readonly [K in typeof key]?: unknown })[key];
    if (typeof text === "string") replace(error, key, named(ownFrames(text)));
  }
  if ("taskName" in error && typeof error.taskName === "string") replace(error, "taskName", named(error.taskName));
  const call = error.details?.["call"];
  if (typeof call === "string") replace(error, "details", { ...error.details, call: named(call) });
  if (isInner && error.code === "ACTOR_DIED" && error.hint !== undefined)
    replace(error, "hint", "Another replica takes its place. Name the method in idempotentMethods to have such calls sent again.");
  if (error.cause instanceof Error && typeof error.cause.stack === "string") replace(error.cause, "stack", ownFrames(error.cause.stack));
  return error;
}

function ownFrames(stack: string): string {
  return stack
    .split("\n")
    .filter((line) => !INNER_FRAME.test(line))
    .join("\n");
}

function replace(error: Error, key: string, value: unknown): void {
  const { enumerable = false } = Object.getOwnPropertyDescriptor(error, key) ?? {};
  Object.defineProperty(error, key, { value, enumerable, writable: true, configurable: true });
}
