/**
 * Films as rows, a frame each: the columns `frame`, `frameIndex` and, where asked for, `timestampMs`.
 *
 * Frames come as PPM or PGM pictures, whose headers have their size. Times come by the filter `metadata`, a line a frame, in microseconds; they are
 * those of the file, which `ffprobe` shows too. The filter `showinfo` would log them in pieces, between which other messages get. Frames are read as the pipeline takes them, so a long film needs little memory.
 */
import { NdArray } from "../../../core/index.ts";
import type { Block } from "../../blocks/block.ts";
import { INT64, variableTensorType } from "../../blocks/data-type.ts";
import { vectorOfNdArray } from "../../blocks/values/nd-arrays.ts";
import type { Vector } from "../../blocks/vector.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { FRAME_BYTES_MAX, READ_BLOCK_BYTES } from "../../limits.ts";
import { ByteWindow } from "../byte-window.ts";
import { type FfmpegOptions, FfmpegRun } from "./ffmpeg.ts";

/** The channels of frames: grey, or red, green and blue. */
export const VIDEO_MODES = ["L", "RGB"] as const;
export type VideoMode = (typeof VIDEO_MODES)[number];

export interface VideoOptions extends FfmpegOptions {
  /** Height and width. Default: those of the film. */
  readonly resize?: readonly [height: number, width: number];
  /** Default: `"RGB"`. */
  readonly mode?: VideoMode;
  /** Frames a second: others are left out or repeated. Default: the frames of the film. */
  readonly fps?: number;
  readonly startMs?: number;
  readonly endMs?: number;
  readonly keyFramesOnly?: boolean;
  readonly includeTimestamps?: boolean;
}

interface Frame {
  readonly data: Uint8Array;
  readonly shape: readonly [height: number, width: number, channels: number];
}

/** The frames of a film in their order. Runs in workers. */
export async function* readVideoFile(path: string, options: VideoOptions = {}): AsyncGenerator<Block, void, undefined> {
  const times = new FrameTimes();
  const onSideLine = options.includeTimestamps === true ? (line: string) => times.take(line) : undefined;
  const run = await FfmpegRun.start(path, { options, ...argumentsOf(options), onSideLine });
  const window = new ByteWindow(run.output, path);
  let index = 0;
  try {
    let gathered = new Gathered(options, index);
    for (let frame = await nextFrame(window); frame !== undefined; frame = await nextFrame(window)) {
      gathered.add(frame, options.includeTimestamps === true ? await times.next(run, index) : 0);
      index += 1;
      if (gathered.bytes < READ_BLOCK_BYTES) continue;
      yield gathered.block();
      gathered = new Gathered(options, index);
    }
    await run.finish({ behind: `${index} frames`, isEmpty: index === 0 });
    if (gathered.bytes > 0) yield gathered.block();
  } finally {
    await run.leave();
  }
}

function argumentsOf({ resize, mode, fps, startMs, endMs, keyFramesOnly, includeTimestamps }: VideoOptions): {
  input: string[];
  output: string[];
} {
  const input = ["-copyts"];
  if (startMs !== undefined && startMs > 0) input.push("-ss", seconds(startMs));
  if (endMs !== undefined) input.push("-t", seconds(endMs - (startMs ?? 0)));
  if (keyFramesOnly === true) input.push("-skip_frame", "nokey");
  const filters = [
    ...(fps === undefined ? [] : [`fps=${fps}`]),
    ...(resize === undefined ? [] : [`scale=${resize[1]}:${resize[0]}:flags=bilinear`]),
    ...(includeTimestamps === true ? TIMES : []),
  ];
  const [codec, format] = mode === "L" ? ["pgm", "gray"] : ["ppm", "rgb24"];
  // `V` leaves out pictures of covers. A frame of the filter is a frame of the output.
  const output = [
    "-map",
    "0:V:0",
    "-vf",
    filters.length === 0 ? "null" : filters.join(","),
    "-fps_mode",
    "passthrough",
    "-f",
    "image2pipe",
    "-c:v",
    codec,
    "-pix_fmt",
    format,
  ];
  return { input, output };
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(6);
}

/** `P6` or `P5`, width, height, 255, each behind one white space. */
const HEADER = /^P([56])\n(\d{1,6}) (\d{1,6})\n255\n/;
const HEADER_BYTES_MAX = 24;

async function nextFrame(window: ByteWindow): Promise<Frame | undefined> {
  await window.fill(HEADER_BYTES_MAX);
  if (window.length === 0) return undefined;
  const text = Buffer.from(window.bytes.buffer, window.bytes.byteOffset + window.start, Math.min(window.length, HEADER_BYTES_MAX)).toString(
    "latin1",
  );
  const found = HEADER.exec(text);
  // A program that was killed leaves a part of a header; how it ended is said there.
  if (found === null) {
    if (window.isLast && window.length < HEADER_BYTES_MAX) return undefined;
    throw new DataError(`Cannot read ${window.file}: ffmpeg gave no picture: received ${JSON.stringify(text)}`);
  }
  const shape = [Number(found[3]), Number(found[2]), found[1] === "6" ? 3 : 1] as const;
  const bytes = shape[0] * shape[1] * shape[2];
  if (bytes === 0 || bytes > FRAME_BYTES_MAX)
    throw new DataError(
      `Cannot read ${window.file}: a frame of ${shape[1]} x ${shape[0]} has ${bytes} bytes, and at most ${FRAME_BYTES_MAX} are read`,
      {
        hint: "make the frames smaller: { resize: [height, width] }",
      },
    );
  window.start += found[0].length;
  await window.fill(bytes);
  if (window.length < bytes) return undefined;
  const data = window.bytes.slice(window.start, window.start + bytes);
  window.start += bytes;
  return { data, shape };
}

/** Frames on their way into a block. */
class Gathered {
  bytes = 0;
  readonly #options: VideoOptions;
  readonly #first: number;
  readonly #frames: Frame[] = [];
  readonly #times: number[] = [];

  constructor(options: VideoOptions, first: number) {
    this.#options = options;
    this.#first = first;
  }

  add(frame: Frame, timeMs: number): void {
    this.#frames.push(frame);
    this.#times.push(timeMs);
    this.bytes += frame.data.length;
  }

  block(): Block {
    const rowCount = this.#frames.length;
    const indexes = BigInt64Array.from(this.#frames, (_, i) => BigInt(this.#first + i));
    const names = ["frame", "frameIndex"];
    const vectors: Vector[] = [this.#pictures(), { type: INT64, length: rowCount, nullCount: 0, bitOffset: 0, values: indexes }];
    if (this.#options.includeTimestamps === true) {
      names.push("timestampMs");
      vectors.push(vectorOfNdArray(new NdArray(Float64Array.from(this.#times), [rowCount])));
    }
    return { rowCount, names, vectors };
  }

  #pictures(): Vector {
    const pictures = this.#frames.map(({ data, shape }) => new NdArray(data, shape));
    // The next film may have another size: then all blocks say so.
    if (this.#options.resize === undefined) return buildVector(pictures, variableTensorType("uint8", 3));
    const all = new Uint8Array(this.bytes);
    let at = 0;
    for (const { data } of this.#frames) {
      all.set(data, at);
      at += data.length;
    }
    return vectorOfNdArray(new NdArray(all, [pictures.length, ...(this.#frames[0] as Frame).shape]));
  }
}

/** The filter prints frames that have a note, and at once. */
const TIMES = ["settb=1/1000000", "metadata=mode=add:key=n:value=1", "metadata=mode=print:key=n:direct=1:file='pipe\\:3'"];
const TIME = /^frame: *\d+ +pts: *(-?\d+|NOPTS) /;

/** The times of frames, by the lines of the filter. A frame's line may come after its picture, as both have pipes. */
class FrameTimes {
  readonly #times: number[] = [];
  #taken = 0;
  #onTime: (() => void) | undefined;

  take(line: string): void {
    const time = TIME.exec(line)?.[1];
    if (time === undefined) return;
    this.#times.push(time === "NOPTS" ? Number.NaN : Number(time) / 1000);
    this.#onTime?.();
  }

  /** The time of the next frame, which has this number. */
  async next(run: FfmpegRun, index: number): Promise<number> {
    if (this.#taken === this.#times.length) {
      this.#times.length = 0;
      this.#taken = 0;
      const came = new Promise<void>((resolve) => {
        this.#onTime = resolve;
      });
      await Promise.race([came, run.ended]);
    }
    const time = this.#times[this.#taken];
    if (time === undefined)
      throw new DataError(`Cannot read ${run.file}: ffmpeg said no time of frame ${index}`, { hint: "ffmpeg 5.1 or newer is needed" });
    this.#taken += 1;
    return time;
  }
}
