/** Chance that can be had again: the seed is printed, and HAULOUT_TEST_SEED sets it. */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed;
  }

  /** For a test: prints its seed. */
  static forTest(what: string): SeededRandom {
    const given = process.env['HAULOUT_TEST_SEED'];
    const seed = given === undefined ? Math.floor(Math.random() * 2 ** 32) : Number(given);
    process.stdout.write(`${what}: HAULOUT_TEST_SEED=${seed}\n`);
    return new SeededRandom(seed);
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.#next() * (to - from + 1));
  }

  pick<T>(values: readonly [T, ...T[]]): T {
    return values[this.between(0, values.length - 1)] ?? values[0];
  }

  /** The same values in another order. */
  shuffled<T>(values: readonly T[]): T[] {
    return values
      .map((value) => ({ value, at: this.#next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ value }) => value);
  }

  /** mulberry32: 0 to 1. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }
}
