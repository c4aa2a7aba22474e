/**
 * Sound as rows, a file each: the columns `amplitude`, of float32 by channel and sample, and `sampleRate`.
 *
 * ffmpeg gives WAV of float32, whose header has the channels and the rate.
 * A file is decoded whole, so its samples have a limit. Samples come with their channels side by side, and leave channel by channel.
 */
import { NdArray } from "../../../core/index.ts";
import { WHOLE_FILE_BYTES_MAX } from "../../../storage/limits.ts";
import { shownPath } from "../../../storage/paths.ts";
import type { Block } from "../../blocks/block.ts";
import { INT64, variableTensorType } from "../../blocks/data-type.ts";
import { buildVector } from "../../blocks/vector-builder.ts";
import { DataError } from "../../errors.ts";
import { type FfmpegOptions, FfmpegRun } from "./ffmpeg.ts";

interface AudioOptions extends FfmpegOptions {
  /** Samples a second. Default: those of the file. */
  readonly sampleRate?: number;
  /** Channels that the file's are mixed to. Default: those of the file. */
  readonly channels?: number;
}

/** A file as one row. Runs in workers. */
export async function* readAudioFile(path: string, options: AudioOptions = {}): AsyncGenerator<Block, void, undefined> {
  const { sampleRate, channels } = options;
  const rate = sampleRate === undefined ? [] : ["-ar", String(sampleRate)];
  const mix = channels === undefined ? [] : ["-ac", String(channels)];
  const output = ["-map", "0:a:0", ...rate, ...mix, "-f", "wav", "-bitexact", "-c:a", "pcm_f32le"];
  const run = await FfmpegRun.start(path, { options, input: [], output });
  try {
    const bytes = await wholeOutput(run, shownPath(path));
    const sound = soundOf(bytes);
    await run.finish({ behind: `${sound?.amplitude.shape[1] ?? 0} samples`, isEmpty: sound === undefined });
    if (sound === undefined) throw new DataError(`Cannot read ${shownPath(path)}: ffmpeg gave no sound`);
    const vectors = [buildVector([sound.amplitude], variableTensorType("float32", 2)), buildVector([sound.sampleRate], INT64)];
    yield { rowCount: 1, names: ["amplitude", "sampleRate"], vectors };
  } finally {
    await run.leave();
  }
}

async function wholeOutput(run: FfmpegRun, file: string): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of run.output) {
    total += chunk.length;
    if (total > WHOLE_FILE_BYTES_MAX)
      throw new DataError(`Cannot read ${file}: its samples have more than ${WHOLE_FILE_BYTES_MAX} bytes`, {
        hint: "cut the file, or take fewer samples: { sampleRate: 16000, channels: 1 }",
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const RIFF_HEADER_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;

/** Reads the WAV that ffmpeg writes to a pipe: its length is not known there, so the data go to the end. */
function soundOf(bytes: Buffer): { amplitude: NdArray<Float32Array>; sampleRate: number } | undefined {
  let channels = 0;
  let sampleRate = 0;
  for (let at = RIFF_HEADER_BYTES; at + CHUNK_HEADER_BYTES <= bytes.length; ) {
    const name = bytes.toString("latin1", at, at + 4);
    const body = at + CHUNK_HEADER_BYTES;
    if (name === "fmt " && body + 8 <= bytes.length) {
      channels = bytes.readUInt16LE(body + 2);
      sampleRate = bytes.readUInt32LE(body + 4);
    }
    if (name === "data") return channels === 0 ? undefined : { amplitude: byChannel(bytes.subarray(body), channels), sampleRate };
    at = body + bytes.readUInt32LE(at + 4);
  }
  return undefined;
}

/** Samples come with their channels side by side. */
function byChannel(bytes: Buffer, channels: number): NdArray<Float32Array> {
  const samples = Math.floor(bytes.length / (4 * channels));
  const mixed = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + samples * channels * 4));
  if (channels === 1) return new NdArray(mixed, [1, samples]);
  const own = new Float32Array(mixed.length);
  for (let channel = 0; channel < channels; channel += 1)
    for (let sample = 0; sample < samples; sample += 1) own[channel * samples + sample] = mixed[sample * channels + channel] as number;
  return new NdArray(own, [channels, samples]);
}
