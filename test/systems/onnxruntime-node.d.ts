/** The part of onnxruntime-node that an example uses. The package is large, and installed by the test of that example alone. */
declare module "onnxruntime-node" {
  export class Tensor {
    constructor(type: "float32", data: Float32Array, dims: readonly number[]);
    readonly data: Float32Array;
  }
  export class InferenceSession {
    static create(model: string | Uint8Array, options?: { intraOpNumThreads?: number }): Promise<InferenceSession>;
    run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
    release(): Promise<void>;
  }
}
