/**
 * The base class of layers and modules.
 *
 * Owns the names: a parameter has the path of its parts as its name, as in PyTorch. All parameters of a layer lie side by side from the first
 * time that somebody asks for them.
 */
import { memory } from "./memory.ts";
import { Parameters, parameterTensor } from "./parameters.ts";
import type { Shape } from "./shapes.ts";
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

  /** Makes a parameter; `initialize` gets its numbers, which are zeros. */
  protected parameter(name: string, shape: Shape, initialize?: (numbers: Float32Array) => void): Tensor {
    this.#checkName(name);
    const node = parameterTensor(shape);
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
