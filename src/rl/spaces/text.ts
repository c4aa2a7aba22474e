/** `Text`: texts of a bounded length over a set of characters. */
import { describeValue } from "../../runtime/base/texts/describe.ts";
import { Space, spaceError, type SpaceJson } from "./space.ts";

/** Gymnasium's default: letters and digits of ASCII. */
const ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

export interface TextOptions {
  readonly maxLength: number;
  /** Default: 1. */
  readonly minLength?: number | undefined;
  /** The characters. Default: letters and digits of ASCII. */
  readonly charset?: string | undefined;
}

export class Text extends Space<string> {
  readonly type = "Text";
  readonly maxLength: number;
  readonly minLength: number;
  readonly charset: string;

  constructor({ maxLength, minLength = 1, charset = ALPHANUMERIC }: TextOptions) {
    super();
    if (!Number.isSafeInteger(minLength) || minLength < 0) throw spaceError("Text", "minLength is a whole number from 0", minLength);
    if (!Number.isSafeInteger(maxLength) || maxLength < minLength)
      throw spaceError("Text", `maxLength is a whole number from minLength, ${minLength}`, maxLength);
    if (typeof charset !== "string" || charset === "") throw spaceError("Text", "charset is a text of all characters", charset);
    this.maxLength = maxLength;
    this.minLength = minLength;
    this.charset = Array.from(new Set(charset)).join("");
  }

  misfit(value: unknown): string | undefined {
    const { minLength, maxLength, charset } = this;
    if (typeof value !== "string") return `a text is needed: received ${describeValue(value)}`;
    const characters = Array.from(value);
    if (characters.length < minLength || characters.length > maxLength)
      return `a text of ${minLength} to ${maxLength} characters is needed: received ${describeValue(value)}`;
    const strange = characters.find((character) => !charset.includes(character));
    return strange === undefined ? undefined : `${describeValue(strange)} is not in the charset: received ${describeValue(value)}`;
  }

  sample(): string {
    const characters = Array.from(this.charset);
    const length = this.minLength + this.random.integer(this.maxLength - this.minLength + 1);
    return Array.from({ length }, () => characters[this.random.integer(characters.length)]).join("");
  }

  toJSON(): SpaceJson {
    const { type, maxLength, minLength, charset } = this;
    return { type, maxLength, minLength, charset };
  }
}
