const newline = 0x0a;

/**
 * Cuts a byte stream into lines. It works on bytes, and each line is decoded whole, so a chunk may end anywhere, also
 * inside of a multi-byte character. The work is linear in the bytes, however many chunks a long line comes in.
 */
export class LineSplitter {
  readonly #longestLine: number;
  #pieces: Uint8Array[] = [];
  #pending = 0;

  /** `longestLine` in bytes: a stream without line ends must not fill the memory. */
  constructor(longestLine = 64 * 1024 * 1024) {
    this.#longestLine = longestLine;
  }

  /** Bytes received after the last line end. */
  get pending(): number {
    return this.#pending;
  }

  /** The lines that `chunk` completes, without their ends; empty lines are left out. Throws on a line too long. */
  push(chunk: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#keep(chunk.subarray(start, end));
      if (this.#pending > 0) {
        lines.push(this.#take());
      }
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) {
      return;
    }
    this.#pending += piece.length;
    if (this.#pending > this.#longestLine) {
      throw new RangeError(`a line is longer than ${this.#longestLine} bytes`);
    }
    this.#pieces.push(piece);
  }

  #take(): string {
    const line = Buffer.concat(this.#pieces, this.#pending).toString('utf8');
    this.#pieces = [];
    this.#pending = 0;
    return line;
  }
}
