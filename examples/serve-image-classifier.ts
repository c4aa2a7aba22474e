/**
 * An image classifier: a picture comes in, as JPEG or PNG, and the digit that it shows goes out. An ingress decodes pictures with sharp; behind it a model in ONNX sees those of several requests together.
 *
 *     npm install onnxruntime-node sharp
 *     python3 examples/digits_model.py digits.onnx                      trains the model
 *     node examples/serve-image-classifier.ts digits.onnx 7.png 4.jpg   starts it, asks it for each picture, ends it
 *     node examples/serve-image-classifier.ts digits.onnx --stay        stays on port 8000: curl --data-binary @7.png http://127.0.0.1:8000/
 */
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import sharp from "sharp";
import * as serve from "shoal/serve";

/** Width and height of the model's pictures, and their values: 0 is paper, 16 is ink. */
const SIZE = 8;
const INK = 16;
const DIGITS = 10;
const BODY_BYTES_MAX = 10 * 1024 * 1024;
/** A small file can decode to a huge picture. */
const PIXELS_MAX = 50_000_000;

interface Answer {
  readonly digit: number;
  readonly confidence: number;
  /** Pictures that went through the model with this one. */
  readonly batchSize: number;
}

class Classifier {
  readonly #session: Promise<InferenceSession>;

  /** @param model path of the file, on each node with a replica */
  constructor(model: string) {
    this.#session = InferenceSession.create(model, { intraOpNumThreads: 1 });
    // `checkHealth` tells what keeps it from loading.
    this.#session.catch(() => {});
  }

  async checkHealth(): Promise<void> {
    await this.#session;
  }

  /** A run with sixteen pictures takes hardly longer than with one. */
  classify = serve.batch(
    async (pictures: Float32Array[]): Promise<Answer[]> => {
      const pixels = new Float32Array(pictures.length * SIZE * SIZE);
      for (const [index, picture] of pictures.entries()) pixels.set(picture, index * SIZE * SIZE);
      const session = await this.#session;
      const { probabilities } = await session.run({ pixels: new Tensor("float32", pixels, [pictures.length, SIZE * SIZE]) });
      const all = probabilities?.data as Float32Array;
      return pictures.map((_, index) => {
        const own = all.subarray(index * DIGITS, (index + 1) * DIGITS);
        const confidence = Math.max(...own);
        return { digit: own.indexOf(confidence), confidence, batchSize: pictures.length };
      });
    },
    { maxBatchSize: 16, batchWaitTimeoutMs: 5 },
  );

  async dispose(): Promise<void> {
    await (await this.#session).release();
  }
}

class Pictures {
  readonly #classifier: serve.Handle<typeof Classifier>;

  constructor(classifier: serve.Handle<typeof Classifier>) {
    this.#classifier = classifier;
  }

  async fetch(request: Request): Promise<Response> {
    if (request.method !== "POST") return Response.json({ error: "POST a picture" }, { status: 405, headers: { allow: "POST" } });
    let picture: Float32Array;
    try {
      picture = await decode(await request.arrayBuffer());
    } catch (error) {
      return Response.json({ error: `a picture as JPEG or PNG is needed: ${(error as Error).message}` }, { status: 415 });
    }
    return Response.json(await this.#classifier.classify.remote(picture));
  }
}

/** Grey values of a picture in the model's size: white ink on black paper. */
async function decode(file: ArrayBuffer): Promise<Float32Array> {
  const grey = sharp(file, { limitInputPixels: PIXELS_MAX }).flatten({ background: "black" }).toColourspace("b-w");
  const pixels = await grey.resize(SIZE, SIZE, { fit: "fill" }).raw().toBuffer();
  return Float32Array.from(pixels, (value) => (value / 255) * INK);
}

const [model, ...files] = process.argv.slice(2).filter((word) => word !== "--stay");
if (model === undefined) throw new Error("Name the model: node examples/serve-image-classifier.ts digits.onnx [--stay | PICTURE...]");
const stays = process.argv.includes("--stay");
const { address } = await serve.start({ httpOptions: { port: stays ? 8000 : 0, maxBodyBytes: BODY_BYTES_MAX } });
const Model = serve.deployment(Classifier, { maxOngoingRequests: 64 }).bind(resolve(model));
await serve.run(serve.deployment(Pictures, { numReplicas: 2, maxOngoingRequests: 32 }).bind(Model), { name: "digits" });

if (stays) console.log(`${address}/`);
else {
  const answers = files.map(async (file) => {
    const response = await fetch(`${address}/`, { method: "POST", body: await readFile(file) });
    return `${basename(file)}: ${response.status} ${await response.text()}`;
  });
  for (const answer of answers) console.log(await answer);
  await serve.shutdown();
}
