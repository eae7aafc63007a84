/** How far a run has come through its numbered pieces, where several are on the way at the same time. */
export class Progress {
  readonly count: number;
  readonly #finished = new Set<number>();
  #begun = 0;

  constructor(count: number) {
    this.count = count;
  }

  get hasNext(): boolean {
    return this.#begun < this.count;
  }

  /** The number of the next piece, from 0. */
  begin(): number {
    return this.#begun++;
  }

  /** With whatever result; one that was cut off is not finished. */
  finish(piece: number): void {
    this.#finished.add(piece);
  }

  /** The lowest one that is not finished: who goes on there leaves out none. Undefined when all are. */
  get goOnAt(): number | undefined {
    for (let piece = 0; piece < this.count; piece++) if (!this.#finished.has(piece)) return piece;
    return undefined;
  }
}

/** For the summary of a run that did not come to its end. */
export function goOn(seed: number, count: number): string {
  return ` It was interrupted: \`--seed ${seed} --count ${count}\` goes on.`;
}
