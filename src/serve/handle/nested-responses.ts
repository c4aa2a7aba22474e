/**
 * Responses inside of arguments: where a call cannot be sent because of them, their values are awaited and take their place.
 *
 * A response that is an argument itself goes as a reference and never comes here. Arguments are looked through only after a call could not be sent, so calls without such responses pay nothing.
 */
import { isPlainObject } from "../../core/internal.ts";
import { DeploymentResponse } from "./deployment-response.ts";

/**
 * Replaces responses by their values, in arrays and plain objects at any depth.
 *
 * @returns undefined if there is no response @throws the error of a failed response
 */
export function withAnswers(args: readonly unknown[]): Promise<readonly unknown[]> | undefined {
  const responses = new Set<DeploymentResponse<unknown>>();
  collect(args, responses, new Set());
  return responses.size === 0 ? undefined : answered(args, responses);
}

async function answered(args: readonly unknown[], responses: ReadonlySet<DeploymentResponse<unknown>>): Promise<readonly unknown[]> {
  const values = new Map<unknown, unknown>(await Promise.all([...responses].map(async (response) => [response, await response] as const)));
  return copyOf(args, values) as unknown[];
}

function collect(value: unknown, responses: Set<DeploymentResponse<unknown>>, seen: Set<object>): void {
  if (value instanceof DeploymentResponse) responses.add(value);
  else if ((Array.isArray(value) || isPlainObject(value)) && !seen.has(value)) {
    seen.add(value);
    for (const item of Object.values(value)) collect(item, responses, seen);
  }
}

/** Copies a value. @param copies the replacements: answers of responses, and copies of visited arrays and objects, which may contain each other */
function copyOf(value: unknown, copies: Map<unknown, unknown>): unknown {
  if (copies.has(value)) return copies.get(value);
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [key, item] of Object.entries(value)) (copy as Record<string, unknown>)[key] = copyOf(item, copies);
  return copy;
}
