/**
 * Decoding films and sound by the program `ffmpeg`, which users install: it is large, and its builds differ in their licences.
 *
 * One process decodes one file. It may open that file alone: playlists, and formats that name other files or addresses, are refused. Any message of the level
 * "error" says that the file is damaged, as the exit code alone does not: a Matroska file that was cut off ends with 0.
 */
import { openLocalFile } from "../../../storage/local/local-copy.ts";
import { shownPath } from "../../../storage/paths.ts";
import { type PipedProgram, startPipedProgram } from "../../../storage/local/piped-program.ts";
import { DataError, ofSetup } from "../../errors.ts";

/** Demuxers of files that name no other file. */
const FORMATS =
  "mov,matroska,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,obu,ivf,flv,asf,ogg,gif,apng,mxf,nut,rm,dv,wtv,yuv4mpegpipe,wav,w64,mp3,flac,aac,aiff,au,caf,amr,ac3,eac3,tta,wv,ape";
const ERRORS_SHOWN_MAX = 3;
const ERROR_CHARACTERS_MAX = 300;

export interface FfmpegOptions {
  /** The program. Default: `ffmpeg` of the PATH. */
  readonly ffmpegPath?: string;
  /** Threads of the decoder. Default: 1. */
  readonly threads?: number;
  /** Go on behind damaged parts of the file. */
  readonly keepsDamaged?: boolean;
}

interface Decoding {
  readonly options: FfmpegOptions;
  /** Before the input. */
  readonly input: readonly string[];
  /** Behind the input. */
  readonly output: readonly string[];
  /** Gets lines that a filter writes to `pipe:3`. */
  readonly onSideLine?: ((line: string) => void) | undefined;
}

/** A running decoder of one file. */
export class FfmpegRun {
  /** As messages show it. */
  readonly file: string;
  readonly #program: PipedProgram;
  readonly #options: FfmpegOptions;
  readonly #errors: string[];
  readonly #close: () => Promise<void>;

  /** @throws StorageError for a file that cannot be opened or copied */
  static async start(path: string, { options, input, output, onSideLine }: Decoding): Promise<FfmpegRun> {
    const local = await openLocalFile(path);
    const errors: string[] = [];
    const general = ["-nostdin", "-hide_banner", "-nostats", "-loglevel", "error"];
    if (options.keepsDamaged !== true) general.push("-xerror");
    const limits = ["-protocol_whitelist", "file", "-format_whitelist", FORMATS, "-threads", String(options.threads ?? 1)];
    const args = [...general, ...limits, ...input, "-i", `file:${local.path}`, "-filter_threads", "1", ...output, "pipe:1"];
    const onErrorLine = (line: string): void => {
      const text = line.replace(PREFIXES, "").trim();
      if (text !== "" && errors.length < ERRORS_SHOWN_MAX) errors.push(text.slice(0, ERROR_CHARACTERS_MAX));
    };
    const program = startPipedProgram(options.ffmpegPath ?? "ffmpeg", args, { onErrorLine, onSideLine });
    return new FfmpegRun(shownPath(path), { program, options, errors, close: () => local.close() });
  }

  private constructor(
    file: string,
    parts: { program: PipedProgram; options: FfmpegOptions; errors: string[]; close: () => Promise<void> },
  ) {
    this.file = file;
    this.#program = parts.program;
    this.#options = parts.options;
    this.#errors = parts.errors;
    this.#close = parts.close;
  }

  get output(): AsyncIterable<Uint8Array> {
    return this.#program.output;
  }

  /** Resolves when the program has ended, or could not be started, and all lines were handed over. */
  get ended(): Promise<unknown> {
    return this.#program.ended.catch(() => undefined);
  }

  /**
   * Waits for the end of a program whose output was read to its end.
   *
   * @param behind - how much was decoded, for the error, such as `12 frames`
   * @throws DataError for a program that cannot be started or was killed, and for a damaged file
   */
  async finish({ behind, isEmpty }: { readonly behind: string; readonly isEmpty: boolean }): Promise<void> {
    const { exitCode, signal } = await this.#program.ended.catch((error: Error) => {
      throw missingProgram(this.#options, error);
    });
    if (signal !== null) throw new DataError(`Cannot read ${this.file}: ffmpeg was ended by ${signal}, behind ${behind}`);
    const keeps = this.#options.keepsDamaged === true && !isEmpty;
    if ((exitCode === 0 && this.#errors.length === 0) || keeps) return;
    const causes = this.#errors.filter((line) => !IS_CONSEQUENCE.test(line));
    const said = [...causes, ...this.#errors].slice(0, Math.max(1, causes.length)).join("; ") || `it ended with code ${exitCode}`;
    if (isEmpty)
      throw new DataError(`Cannot read ${this.file}: ffmpeg says: ${said}`, {
        hint: "is it a film or sound, and whole? ffmpeg has to be 5.1 or newer",
      });
    throw new DataError(`Cannot read ${this.file} to its end: ffmpeg says, behind ${behind}: ${said}`, {
      hint: 'was it copied to its end? damaged: "keep" gives the parts that can be decoded',
    });
  }

  /** Ends the program where it still runs, and removes the copy of a remote file. */
  async leave(): Promise<void> {
    this.#program.kill();
    await this.ended;
    await this.#close();
  }
}

const PREFIXES = /^(?:\[[^\]]*\] )+/;
/** Lines that follow another error and name no cause. */
const IS_CONSEQUENCE = /^(?:Error opening (?:input|output)|Task finished|Terminating thread|Conversion failed|Nothing was written)/;

function missingProgram({ ffmpegPath = "ffmpeg" }: FfmpegOptions, cause: Error): DataError {
  return ofSetup(
    new DataError(`Films and sound need the program ffmpeg, and ${JSON.stringify(ffmpegPath)} cannot be started`, {
      cause,
      hint: 'install it on each node that reads (apt install ffmpeg, brew install ffmpeg), or name it: { ffmpegPath: "/opt/ffmpeg" }',
    }),
  );
}
