/** What is added to a file that others write, in whole lines. */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** A log may grow by more than fits into one string between two looks. */
const PIECE_BYTES = 16 * 1024 * 1024;

export class LineTail {
  readonly #file: string;
  #offset: number;

  /** Begins with what is written from now on, or at the byte `offset`. */
  constructor(file: string, offset?: number) {
    this.#file = file;
    this.#offset = offset ?? (existsSync(file) ? this.#size() : 0);
  }

  /** Those that were completed since the last call; a file that is not there yet has none. */
  *lines(): Generator<string> {
    if (!existsSync(this.#file)) return;
    const handle = openSync(this.#file, 'r');
    try {
      const { size } = fstatSync(handle);
      const piece = Buffer.alloc(Math.max(0, Math.min(PIECE_BYTES, size - this.#offset)));
      while (this.#offset < size) {
        const length = readSync(handle, piece, 0, piece.length, this.#offset);
        // Cut at the last whole line; a character of several bytes is never split that way.
        const end = piece.subarray(0, length).lastIndexOf(0x0a) + 1;
        if (end === 0) return;
        this.#offset += end;
        for (const line of piece.toString('utf8', 0, end).split('\n')) if (line !== '') yield line;
      }
    } finally {
      closeSync(handle);
    }
  }

  #size(): number {
    const handle = openSync(this.#file, 'r');
    try {
      return fstatSync(handle).size;
    } finally {
      closeSync(handle);
    }
  }
}
