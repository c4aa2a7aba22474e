/**
 * Streams in simulated programs: generators in workers that are read to the end, in part, or dropped midway.
 *
 * Holds that items come in order, each once and right, whatever dies as long as the stream may be made again. Holds that a generator whose
 * reader has stopped ends: a generator that is still between two items when everything else is over breaks the run (`openStreams`).
 */
import { type ObjectRefGenerator, remote } from "../../src/index.ts";
import { currentProcess } from "../ambient.ts";
import { type Application, bytesOf, isOutcome, mix, type Outcome } from "../application.ts";
import type { SimulatedProcess } from "../world.ts";
import { CAUSED_BY_FAULTS, type PartContext, type ProgramPart, rootOf, sleep } from "./part.ts";

interface StreamSpec {
  readonly key: string;
  readonly count: number;
  readonly ms: number;
  readonly size: "small" | "large";
}

type StreamFunction = {
  options(options: { maxRetries: number; highWaterMark?: number }): { remote(spec: StreamSpec): ObjectRefGenerator<Outcome> };
};

const functions = new WeakMap<Application, StreamFunction>();

function streamFunction(app: Application): StreamFunction {
  let found = functions.get(app);
  if (found === undefined) {
    const stream = async function* stream(spec: StreamSpec): AsyncGenerator<Outcome> {
      const process = currentProcess() as SimulatedProcess;
      process.say(`streams ${spec.key}`);
      app.goesOn(spec.key, process);
      const open = { key: spec.key, process };
      app.openStreams.add(open);
      try {
        for (let index = 0; index < spec.count; index += 1) {
          await new Promise<void>((resolve) => process.schedule(spec.ms, resolve));
          const n = mix(`${spec.key}/${index}`, []);
          yield { n, bytes: spec.size === "large" ? bytesOf(n) : undefined, refs: [] };
          app.goesOn(spec.key, process);
        }
      } finally {
        app.openStreams.delete(open);
      }
    };
    found = remote(stream) as unknown as StreamFunction;
    functions.set(app, found);
  }
  return found;
}

export class StreamPart implements ProgramPart {
  readonly #context: PartContext;

  constructor(context: PartContext) {
    this.#context = context;
  }

  step(): void {
    const { app, random, newKey, track, driver } = this.#context;
    const spec: StreamSpec = {
      key: newKey("s"),
      count: random.below(30),
      ms: random.pick([0, 0, 2, 10]),
      size: random.next() < 0.1 ? "large" : "small",
    };
    const maxRetries = random.pick([0, -1, -1]);
    const highWaterMark = random.pick([undefined, undefined, 1, 3]);
    const stopsAfter = random.next() < 0.5 ? random.below(spec.count + 1) : undefined;
    const manner = random.pick(["values", "values", "refs"] as const);
    driver.process.say(`begins stream ${spec.key} of ${spec.count} (${manner}), stops after ${stopsAfter ?? "all"}`);
    const generator = streamFunction(app)
      .options(highWaterMark === undefined ? { maxRetries } : { maxRetries, highWaterMark })
      .remote(spec);
    track(spec.key, () => this.#read(generator, spec, { stopsAfter, manner, isSure: maxRetries === -1 }));
  }

  end(): void {}

  async #read(
    generator: ObjectRefGenerator<Outcome>,
    spec: StreamSpec,
    how: { stopsAfter: number | undefined; manner: "values" | "refs"; isSure: boolean },
  ): Promise<void> {
    const { hasFaults } = this.#context;
    let index = 0;
    try {
      if (how.stopsAfter !== 0) {
        if (how.manner === "values") {
          for await (const value of generator) {
            this.#compare(spec, index, value);
            index += 1;
            if (index === how.stopsAfter) break;
            await this.#pause();
          }
        } else {
          for await (const { ref } of generator.refs()) {
            await this.#pause();
            this.#compare(spec, index, await ref);
            ref[Symbol.dispose]();
            index += 1;
            if (index === how.stopsAfter) break;
          }
        }
      } else {
        await generator.return?.();
      }
      const expected = how.stopsAfter ?? spec.count;
      if (index !== Math.min(expected, spec.count)) this.#context.violate(`stream ${spec.key} gave ${index} items, not ${expected}`);
    } catch (error) {
      const cause = rootOf(error);
      if (!(hasFaults && !how.isSure && CAUSED_BY_FAULTS.has(cause.name)))
        this.#context.violate(`stream ${spec.key} failed after ${index} items with ${cause.name}: ${cause.message.split("\n")[0]}`);
      await generator.return?.();
    }
  }

  #compare(spec: StreamSpec, index: number, value: Outcome): void {
    const n = mix(`${spec.key}/${index}`, []);
    if (!isOutcome(value, n)) this.#context.violate(`item ${index} of stream ${spec.key} is ${value.n}, not ${n}`);
  }

  async #pause(): Promise<void> {
    const { random } = this.#context;
    if (random.next() < 0.3) await sleep(this.#context, random.next() * 30);
  }
}
