/**
 * The base class of layers and modules.
 *
 * Owns the names: a parameter is named by its path of parts, as in PyTorch. All parameters of a layer lie side by side from the first
 * time that somebody asks for them.
 */
import { memory } from "./memory.ts";
import { type Layout, layoutOf, Parameters, parameterTensor, setLayout } from "./parameters.ts";
import { isSameShape, type Shape } from "./shapes.ts";
import { fromStored, type StoredTensor, storedShape, toStored } from "./stored-tensor.ts";
import { describeShape } from "./tape.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Holds parameters and parts. Subclasses make them in their constructor, and have a `forward`.
 *
 * @example
 * ```ts
 * class Scale extends Layer {
 *   factor = this.parameter("factor", [1], (numbers) => numbers.fill(1));
 *   forward(x: Tensor): Tensor {
 *     return x.mul(this.factor);
 *   }
 * }
 * ```
 */
export abstract class Layer {
  readonly #own = new Map<string, Tensor>();
  readonly #parts = new Map<string, Layer>();
  #parameters: Parameters | undefined;

  /** All parameters, with those of parts, for an optimizer. */
  get parameters(): Parameters {
    this.#parameters ??= new Parameters(this.namedParameters());
    return this.#parameters;
  }

  /** Parameters by their names, such as `0.weight`, in the order in which they were made. */
  namedParameters(): Map<string, Tensor> {
    const named = new Map(this.#own);
    for (const [name, part] of this.#parts) for (const [inner, node] of part.namedParameters()) named.set(`${name}.${inner}`, node);
    return named;
  }

  /**
   * Sets all parameters to numbers in PyTorch's layout, as `loadSafetensors` gives them.
   *
   * @throws RangeError when a name is missing or unknown, or a shape differs; then nothing has changed
   */
  load(stored: ReadonlyMap<string, StoredTensor>): void {
    const named = this.namedParameters();
    const unknown = Array.from(stored.keys()).find((name) => !named.has(name));
    if (unknown !== undefined) throw new RangeError(`Cannot load weights: there is no parameter of this name: received "${unknown}".`);
    for (const [name, node] of named) {
      const wanted = storedShape(node.shape, layoutOf(node));
      const found = stored.get(name);
      if (found === undefined || !isSameShape(found.shape, wanted))
        throw new RangeError(
          `Cannot load weights: ${name} has shape ${describeShape(wanted)}: received ${found === undefined ? "none" : describeShape(found.shape)}.`,
        );
    }
    for (const [name, node] of named) {
      const { data } = stored.get(name) as StoredTensor;
      memory.view(node.offset, node.size).set(fromStored(data, node.shape, layoutOf(node)));
    }
  }

  /** All parameters in PyTorch's layout, as `load` takes them. */
  stored(): Map<string, StoredTensor> {
    return new Map(
      Array.from(this.namedParameters(), ([name, node]) => {
        const layout = layoutOf(node);
        return [name, { shape: storedShape(node.shape, layout), data: toStored(node.toArray(), node.shape, layout) }];
      }),
    );
  }

  /** Makes a parameter; `initialize` gets its numbers, which are zeros. `layout` is for files. */
  protected parameter(name: string, shape: Shape, initialize?: (numbers: Float32Array) => void, layout?: Layout): Tensor {
    this.#checkName(name);
    const node = parameterTensor(shape);
    if (layout !== undefined) setLayout(node, layout);
    if (initialize !== undefined) {
      const numbers = new Float32Array(node.size);
      initialize(numbers);
      memory.view(node.offset, node.size).set(numbers);
    }
    this.#own.set(name, node);
    return node;
  }

  /** Names a part. @throws Error when the name is taken */
  protected add<Part extends Layer>(name: string, part: Part): Part {
    this.#checkName(name);
    this.#parts.set(name, part);
    return part;
  }

  #checkName(name: string): void {
    if (name === "" || this.#own.has(name) || this.#parts.has(name))
      throw new Error(`Cannot add to a layer: each part has a name of its own: received "${name}". The names are ${this.#names()}.`);
    if (this.#parameters !== undefined)
      throw new Error(`Cannot add to a layer: its parameters are already in use: received "${name}". Add parts in the constructor.`);
  }

  #names(): string {
    return [...this.#own.keys(), ...this.#parts.keys()].join(", ") || "all free";
  }
}
