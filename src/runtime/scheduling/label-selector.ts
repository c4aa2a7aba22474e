/**
 * Label selectors: conditions on the labels of a node, by key.
 *
 * A condition is a value (`"eu"`), its negation (`"!eu"`), a list (`"in(eu,us)"`) or its negation (`"!in(eu,us)"`). A node without the label
 * meets only negated conditions. All conditions must hold. The options (to refuse invalid conditions), the lease manager and the policies use it.
 */

export type Labels = Readonly<Record<string, string>>;

/** Every node has it; its value is the node's id. */
export const NODE_ID_LABEL = "shoal.io/node-id";

/** The type of the node's accelerators, such as `H200`. */
export const ACCELERATOR_TYPE_LABEL = "shoal.io/accelerator-type";

interface Condition {
  readonly negated: boolean;
  readonly values: readonly string[];
}

const VALUE = /^[A-Za-z0-9]([A-Za-z0-9_.\-/]{0,253}[A-Za-z0-9])?$/;

/** The condition, or `undefined` for text that is none. */
export function parseCondition(text: string): Condition | undefined {
  const negated = text.startsWith("!");
  const positive = negated ? text.slice(1) : text;
  const list = /^in\((.*)\)$/.exec(positive);
  const values = list === null ? [positive] : (list[1] as string).split(",").map((value) => value.trim());
  return values.every((value) => VALUE.test(value)) ? { negated, values } : undefined;
}

export function isLabelKey(text: string): boolean {
  return VALUE.test(text);
}

export function isLabelValue(text: string): boolean {
  return VALUE.test(text);
}

/** Whether all conditions hold. */
export function matchesLabels(selector: Labels | undefined, labels: Labels): boolean {
  return unmatchedLabel(selector, labels) === undefined;
}

/** The first condition that does not hold, for a message. */
export function unmatchedLabel(selector: Labels | undefined, labels: Labels): { key: string; condition: string } | undefined {
  if (selector === undefined) return undefined;
  for (const [key, text] of Object.entries(selector)) {
    const condition = parseCondition(text);
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    const isListed = value !== undefined && condition?.values.includes(value) === true;
    if (condition === undefined || isListed === condition.negated) return { key, condition: text };
  }
  return undefined;
}
