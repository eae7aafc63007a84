/** At most so many at a time; the rest wait in the order they came. */
export class Limit {
  readonly #most: number;
  #running = 0;
  readonly #waiting: (() => Promise<void>)[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  /** `work` must not throw: nobody waits for it. */
  add(work: () => Promise<void>): void {
    this.#waiting.push(work);
    this.#next();
  }

  #next(): void {
    while (this.#running < this.#most) {
      const work = this.#waiting.shift();
      if (!work) return;
      this.#running++;
      void work().finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }
}
