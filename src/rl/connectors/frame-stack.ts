/**
 * `FrameStack`: the last observations side by side, so that a network without memory sees movement.
 *
 * At the start of an episode all frames are the first observation. Pictures are stacked along their channels, and the newest frame is the last.
 * Frames are remembered by environment.
 */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Box } from "../spaces/box.ts";
import { Connector, type ConnectorColumns, type ConnectorContext, type ConnectorSetup, EnvironmentMemory } from "./connector.ts";

export interface FrameStackOptions {
  readonly numFrames: number;
}

export class FrameStack extends Connector {
  readonly options: FrameStackOptions;
  readonly #frames: EnvironmentMemory = new EnvironmentMemory();
  /** Numbers of a frame that stay together: a pixel's channels. */
  #depth = 1;

  constructor(options: FrameStackOptions) {
    super();
    const numFrames: unknown = (options as FrameStackOptions | undefined)?.numFrames;
    if (!Number.isSafeInteger(numFrames) || (numFrames as number) < 1)
      throw new RangeError(`Cannot make a FrameStack: numFrames is a whole number from 1: received ${describeValue(numFrames)}`);
    this.options = options;
  }

  override prepare({ space }: ConnectorSetup): Box {
    const { numFrames } = this.options;
    this.#depth = space.shape.at(-1) as number;
    const bounds = (of: Float64Array): Float64Array => this.#stacked(Array.from({ length: numFrames }, () => of));
    return new Box({ low: bounds(space.low), high: bounds(space.high), shape: [...space.shape.slice(0, -1), this.#depth * numFrames] });
  }

  call(columns: ConnectorColumns, { episodeStarts, environments }: ConnectorContext): ConnectorColumns {
    const { numFrames } = this.options;
    const { rows, obs } = columns;
    const size = obs.length / rows;
    const stacked = new Float32Array(numFrames * obs.length);
    for (let row = 0; row < rows; row += 1) {
      const frame = obs.subarray(row * size, (row + 1) * size);
      const frames = this.#frames.of(environments[row] as number, numFrames * size);
      if (episodeStarts[row] === 0) frames.copyWithin(0, size).set(frame, (numFrames - 1) * size);
      else for (let at = 0; at < numFrames; at += 1) frames.set(frame, at * size);
      const parts = Array.from({ length: numFrames }, (_, at) => frames.subarray(at * size, (at + 1) * size));
      stacked.set(this.#stacked(parts), row * numFrames * size);
    }
    return { ...columns, obs: stacked };
  }

  #stacked<A extends Float32Array | Float64Array>(frames: readonly A[]): A {
    const [first] = frames as readonly [A];
    const depth = this.#depth;
    const whole = new (first.constructor as new (length: number) => A)(frames.length * first.length);
    for (let from = 0; from < first.length; from += depth)
      for (const [index, frame] of frames.entries()) whole.set(frame.subarray(from, from + depth), from * frames.length + index * depth);
    return whole;
  }

  override getMemory(): unknown {
    return this.#frames.getState();
  }

  override setMemory(memory: never): void {
    this.#frames.setState(memory);
  }
}
