/**
 * The parameters of a module: many tensors, side by side in one array, their gradients likewise.
 *
 * Decides when tensors move together, and gives views of all of them, so that an optimizer's step is one call and weights travel as one array.
 * Tensors that lie together stay together: a layer that becomes part of a module has its parameters as a part of the module's.
 */
import { Block, memory } from "./memory.ts";
import { checkedShape, type Shape, sizeOf } from "./shapes.ts";
import { lastingPlace, PARAMETER, zeroedBlock } from "./tape.ts";
import { Tensor } from "./tensor.ts";

/** A parameter of zeros. It lives as long as its layer, whatever scope it is made in. */
export function parameterTensor(shape: Shape): Tensor {
  const size = sizeOf(checkedShape("make a parameter", shape));
  const node = new Tensor(shape, size, lastingPlace(size));
  memory.view(node.offset, size).fill(0);
  node.requiresGrad = true;
  node.extra = PARAMETER;
  return node;
}

/** By axis of PyTorch's layout, the axis here. Parameters without one have the same layout. */
export type Layout = readonly number[];

const layouts = new WeakMap<Tensor, Layout>();

export function setLayout(parameter: Tensor, layout: Layout): void {
  layouts.set(parameter, layout);
}

export function layoutOf(parameter: Tensor): Layout | undefined {
  return layouts.get(parameter);
}

/** All parameters of a layer; an optimizer takes them. Made by `layer.parameters`. */
export class Parameters {
  /** By their names, in the order in which they lie. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  /** How many numbers they have together. */
  readonly size: number;

  /** @throws Error when some of the tensors already lie together with others */
  constructor(tensors: ReadonlyMap<string, Tensor>) {
    this.tensors = tensors;
    this.size = 0;
    for (const { size } of tensors.values()) this.size += size;
    this.#gather();
  }

  /** A view of all numbers. It is valid until the next tensor is made; writes change the parameters. */
  get data(): Float32Array {
    const first = this.#first();
    return first === undefined ? new Float32Array() : memory.view(first.offset, this.size);
  }

  /** A view of all gradients, zeros before the first `backward`, valid like {@link data}. */
  get gradients(): Float32Array {
    const first = this.#first();
    if (first === undefined) return new Float32Array();
    return memory.view(this.gradientsPlace(), this.size);
  }

  /** Where the first gradient lies. */
  gradientsPlace(): number {
    const first = this.#first();
    if (first?.block === null || first === undefined) return 0;
    first.block.gradients ??= zeroedBlock(first.block.sizeBytes / 4);
    return first.block.gradients.offset + (first.offset - first.block.offset);
  }

  /** Where the first number lies. */
  place(): number {
    return this.#first()?.offset ?? 0;
  }

  zeroGrad(): void {
    if (this.#first()?.block?.gradients != null) this.gradients.fill(0);
  }

  #first(): Tensor | undefined {
    return this.tensors.values().next().value;
  }

  #gather(): void {
    const all = Array.from(this.tensors.values());
    if (new Set(all).size < all.length)
      throw new Error("Cannot gather parameters: a tensor has two names: received the same tensor twice.");
    if (liesTogether(all)) return;
    for (const block of new Set(all.map((node) => node.block as Block)))
      if (all.filter((node) => node.block === block).length < block.tensors)
        throw new Error(
          "Cannot gather parameters: a layer is a part of two modules: received some of the parameters of another module. " +
            "Make a layer for each, and copy the weights.",
        );
    const block = memory.block(this.size, all.length);
    if (all.some((node) => node.block?.gradients != null)) block.gradients = zeroedBlock(block.sizeBytes / 4);
    let offset = block.offset;
    for (const node of all) {
      memory.view(offset, node.size).set(memory.view(node.offset, node.size));
      const old = node.block?.gradients;
      if (block.gradients !== null && old != null) {
        const from = old.offset + (node.offset - (node.block as Block).offset);
        memory.view(block.gradients.offset + (offset - block.offset), node.size).set(memory.view(from, node.size));
      }
      node.offset = offset;
      node.block = block;
      node.gradientOffset = 0;
      offset += node.size * 4;
    }
  }
}

function liesTogether(all: readonly Tensor[]): boolean {
  return all.every((node, index) => {
    const before = all[index - 1];
    return before === undefined || (node.block === before.block && node.offset === before.offset + before.size * 4);
  });
}
