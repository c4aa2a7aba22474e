/**
 * The tape: which tensor came from which, how long each lives, and the way back from a loss to its gradients.
 *
 * A node knows its operation and operands; `backward` sorts the nodes below a loss and calls each operation once. A node belongs to the scope in which
 * it was made and cannot be used after that has ended. Nodes are plain objects without closures, since a small network makes a million a second.
 */
import { Block, memory, type StackMark } from "./memory.ts";

/** The origin of a node. Operations are constants; a node holds the values of one call. */
export interface Operation {
  readonly name: string;
  /** Adds the gradient of each operand that wants one; the node's own lies at `node.gradientOffset`. */
  backward(node: TapeNode): void;
}

class Scope {
  readonly parent: Scope | null;
  readonly mark: StackMark;
  alive = true;
  /** Blocks that end with this scope. */
  blocks: Block[] | null = null;
  /** Nodes that go to the parent when this scope ends. */
  kept: TapeNode[] | null = null;
  constructor(parent: Scope | null) {
    this.parent = parent;
    this.mark = memory.mark();
  }
  own(block: Block): void {
    if (this.parent === null) return;
    this.blocks ??= [];
    this.blocks.push(block);
  }
}

const root = new Scope(null);
let current = root;
let recording = true;

export class TapeNode {
  readonly shape: readonly number[];
  readonly size: number;
  /** Where the numbers lie. Use {@link place} unless the node was made just now. */
  offset: number;
  scope: Scope;
  /** Holds the numbers where they are not on the stack. */
  block: Block | null;
  requiresGrad = false;
  operation: Operation | null = null;
  a: TapeNode | null = null;
  b: TapeNode | null = null;
  c: TapeNode | null = null;
  /** Further operands, or values for the way back. */
  extra: unknown = null;
  p = 0;
  q = 0;
  /** During `backward`; for leaves also after it. 0: none. */
  gradientOffset = 0;
  gradientBlock: Block | null = null;
  visit = 0;

  constructor(shape: readonly number[], size: number, at?: Place) {
    this.shape = shape;
    this.size = size;
    if (at !== undefined) {
      this.offset = at.offset;
      this.block = at.block;
      this.scope = at.scope;
      return;
    }
    this.scope = current;
    if (current === root) {
      this.block = memory.block(size);
      this.offset = this.block.offset;
    } else {
      this.block = null;
      this.offset = memory.push(size);
    }
  }
}

/** The offset of a node's numbers. @throws Error after its scope has ended */
export function place(node: TapeNode): number {
  if (!node.scope.alive)
    throw new Error(
      `Cannot use a tensor: its scope has ended: received a tensor of shape ${describeShape(node.shape)}. Let it out with keep(), or copy it with toArray().`,
    );
  return node.offset;
}

export function describeShape(shape: readonly number[]): string {
  return `[${shape.join(", ")}]`;
}

/** Notes the operands of a node, if any of them wants a gradient. */
export function record<Node extends TapeNode>(
  node: Node,
  operation: Operation,
  a: TapeNode,
  b: TapeNode | null = null,
  c: TapeNode | null = null,
): Node {
  if (recording && (a.requiresGrad || b?.requiresGrad === true || c?.requiresGrad === true)) {
    node.requiresGrad = true;
    node.operation = operation;
    node.a = a;
    node.b = b;
    node.c = c;
  }
  return node;
}

/** {@link record} for operations of any number of operands, which stand in `extra`. */
export function recordMany<Node extends TapeNode>(node: Node, operation: Operation, parts: readonly TapeNode[]): Node {
  if (recording && parts.some(({ requiresGrad }) => requiresGrad)) {
    node.requiresGrad = true;
    node.operation = operation;
    node.extra = parts;
  }
  return node;
}

/**
 * Runs `f` and frees all tensors that it made, also when it throws. Those given to {@link keep} go to the scope around it.
 *
 * @throws TypeError when `f` is asynchronous: others would run within its scope
 */
export function scope<Result>(f: () => Result): Result {
  const own = new Scope(current);
  current = own;
  let done = false;
  try {
    const result = f();
    if (typeof (result as { then?: unknown } | null | undefined)?.then === "function")
      throw new TypeError("Cannot run a scope: its function is asynchronous: received a promise. Await outside of scope().");
    done = true;
    return result;
  } finally {
    current = own.parent ?? root;
    end(own, done);
  }
}

function end(own: Scope, done: boolean): void {
  own.alive = false;
  for (const node of own.kept ?? []) {
    if (done) letOut(node, own.parent ?? root);
    else if (node.block !== null) memory.free(node.block);
  }
  for (const block of own.blocks ?? []) memory.free(block);
  memory.returnTo(own.mark);
}

/** The operands of a tensor end with the scope, so the tensor becomes a constant. A leaf stays a leaf. */
function letOut(node: TapeNode, to: Scope): void {
  node.scope = to;
  if (node.operation !== null) {
    node.operation = null;
    node.requiresGrad = false;
    node.a = null;
    node.b = null;
    node.c = null;
    node.extra = null;
  }
  if (node.block !== null) to.own(node.block);
}

/** Lets a tensor out of the innermost scope: it lives as long as the scope around that, without its history. Others stay as they are. */
export function keep<Node extends TapeNode>(node: Node): Node {
  const from = place(node);
  if (node.scope !== current || current === root || current.kept?.includes(node) === true) return node;
  const block = memory.block(node.size);
  memory.f32.copyWithin(block.offset / 4, from / 4, from / 4 + node.size);
  node.block = block;
  node.offset = block.offset;
  current.kept ??= [];
  current.kept.push(node);
  return node;
}

/** Runs `f` without a tape: its tensors want no gradients and hold none of their operands. */
export function noGrad<Result>(f: () => Result): Result {
  const before = recording;
  recording = false;
  try {
    return f();
  } finally {
    recording = before;
  }
}

let visits = 0;

/**
 * Adds the gradients of a loss to all leaves below it that want them.
 *
 * @throws RangeError when the loss has more than one number, Error when nothing below it wants a gradient
 */
export function backward(loss: TapeNode): void {
  place(loss);
  if (loss.size !== 1)
    throw new RangeError(
      `Cannot compute gradients: a loss has one number: received a tensor of shape ${describeShape(loss.shape)}. Use mean() or sum().`,
    );
  if (!loss.requiresGrad)
    throw new Error(
      "Cannot compute gradients: nothing below the loss wants one: received a constant. Set requiresGrad, or leave noGrad().",
    );
  const own = new Scope(current);
  const order = sorted(loss);
  for (const node of order) if (node.operation === null) leafGradient(node);
  current = own;
  try {
    const seed = gradientFor(loss) / 4;
    memory.f32[seed] = (addsToGradient ? (memory.f32[seed] as number) : 0) + 1;
    for (let at = order.length - 1; at >= 0; at--) {
      const node = order[at] as TapeNode;
      if (node.gradientOffset !== 0) node.operation?.backward(node);
    }
  } finally {
    for (const node of order) if (node.operation !== null) node.gradientOffset = 0;
    current = own.parent ?? root;
    end(own, true);
  }
}

/** All nodes below a loss that want gradients, operands first. */
function sorted(loss: TapeNode): TapeNode[] {
  visits += 2;
  const entered = visits - 1;
  const left = visits;
  const order: TapeNode[] = [];
  const stack: TapeNode[] = [loss];
  for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
    if (node.visit === left) {
      stack.pop();
    } else if (node.visit === entered) {
      stack.pop();
      node.visit = left;
      order.push(node);
    } else {
      place(node);
      node.visit = entered;
      visitOperands(node, stack, entered);
    }
  }
  return order;
}

function visitOperands(node: TapeNode, stack: TapeNode[], entered: number): void {
  const { a, b, c, extra } = node;
  if (a?.requiresGrad === true && a.visit < entered) stack.push(a);
  if (b?.requiresGrad === true && b.visit < entered) stack.push(b);
  if (c?.requiresGrad === true && c.visit < entered) stack.push(c);
  if (a === null && Array.isArray(extra))
    for (const part of extra as TapeNode[]) if (part.requiresGrad && part.visit < entered) stack.push(part);
}

/** Whether the place that {@link gradientFor} gave last holds a gradient to add to; else it holds anything. */
export let addsToGradient = false;

/** Where to put an operand's gradient. Sets {@link addsToGradient}. */
export function gradientFor(node: TapeNode): number {
  addsToGradient = node.gradientOffset !== 0;
  if (!addsToGradient) node.gradientOffset = memory.push(node.size);
  return node.gradientOffset;
}

/** {@link gradientFor}, for operations that can only add. */
export function gradientToAddTo(node: TapeNode): number {
  const offset = gradientFor(node);
  if (!addsToGradient) memory.f32.fill(0, offset / 4, offset / 4 + node.size);
  return offset;
}

/** The gradient of a leaf lives as long as the leaf. Parameters have theirs side by side, as their values are. */
function leafGradient(node: TapeNode): void {
  if (node.gradientOffset !== 0) return;
  if (node.block !== null && node.extra === PARAMETER) {
    node.block.gradients ??= zeroedBlock(node.block.sizeBytes / 4);
    node.gradientOffset = node.block.gradients.offset + (node.offset - node.block.offset);
    return;
  }
  node.gradientBlock = zeroedBlock(node.size);
  node.gradientOffset = node.gradientBlock.offset;
  node.scope.own(node.gradientBlock);
}

/** Marks the leaves whose numbers and gradients lie in the blocks of a module. */
export const PARAMETER: unique symbol = Symbol("parameter");

export function zeroedBlock(count: number): Block {
  const block = memory.block(count);
  memory.f32.fill(0, block.offset / 4, block.offset / 4 + count);
  return block;
}

interface Place {
  readonly offset: number;
  readonly block: Block | null;
  readonly scope: Scope;
}

/** A place outside of all scopes. */
export function lastingPlace(size: number): Place {
  const block = memory.block(size);
  return { offset: block.offset, block, scope: root };
}

/** The place of another node, for one of the same numbers in another shape, or without a history. */
export function sharedPlace(node: TapeNode): Place {
  return { offset: place(node), block: node.block, scope: node.scope };
}
