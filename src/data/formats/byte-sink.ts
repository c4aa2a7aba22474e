/** Bytes that a writer of text appends to, in memory that grows. */
export class ByteSink {
  bytes: Uint8Array = new Uint8Array(1024);
  length = 0;

  /** Makes room for `more` bytes. */
  reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  ascii(text: string): void {
    const { length } = text;
    this.reserve(length);
    const { bytes, length: at } = this;
    for (let i = 0; i < length; i += 1) bytes[at + i] = text.charCodeAt(i);
    this.length = at + length;
  }

  copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    const { bytes, length: at } = this;
    if (end - start > 48) bytes.set(source.subarray(start, end), at);
    else for (let i = start; i < end; i += 1) bytes[at + i - start] = source[i] as number;
    this.length = at + end - start;
  }

  /** Returns the written bytes. The sink must not be used afterwards. */
  taken(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }
}
