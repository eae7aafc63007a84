/** Writes the demo's story; shows the live table in place on a terminal, and one line per change elsewhere. */
import type { Live } from './live.ts';
import { blockerLine, summary, table, wrap } from './view.ts';

const REDRAW_MS = 100;
const LINE_MS = 250;
const WIDEST = 110;
/** A table that is higher than the terminal could not be redrawn in place. */
const LOWEST = 24;

export class Screen {
  readonly #out = process.stdout;
  #step = 0;
  #isAfterGap = false;
  /** What the log says already: a part of the story that follows does not say it again. */
  #lastSummary = '';
  #toldBlockers: ReadonlySet<string> = new Set();

  get #width(): number {
    return Math.min(this.#out.columns ?? WIDEST, WIDEST) - 1;
  }

  /** A new part of the story. */
  step(title: string): void {
    this.#step++;
    if (!this.#isAfterGap) this.#line('');
    this.#line(this.#bold(`${this.#step}. ${title}`));
  }

  /** What happens and why, in sentences. */
  say(text: string): void {
    for (const line of wrap(text, this.#width - 3)) this.#line(`   ${line}`);
  }

  /** A command as a user would type it. */
  command(line: string): void {
    this.#line(`   ${this.#bold(`$ ${line}`)}`);
  }

  /** What a command printed. */
  output(text: string): void {
    for (const line of text.trimEnd().split('\n')) this.#line(`   ${line}`);
  }

  /** Shows how things move until `work` is done. */
  async follow(live: Live, since: number, work: Promise<void>): Promise<void> {
    const fits = this.#out.isTTY && this.#out.rows >= LOWEST;
    const view = fits ? this.#table(live, since) : this.#changes(live, since);
    try {
      await work;
    } finally {
      view.end();
    }
  }

  #table(live: Live, since: number): { end: () => void } {
    let height = 0;
    const draw = (): void => {
      const lines = table(live, (performance.now() - since) / 1000, this.#width - 3);
      const up = height > 0 ? `\x1b[${height}A` : '';
      // Each line is cleared behind its text, and what was below the table at the end: nothing flickers.
      this.#out.write(`${up}\r${lines.map((line) => `   ${line}\x1b[K\n`).join('')}\x1b[J`);
      height = lines.length;
    };
    this.#line('');
    draw();
    const timer = setInterval(draw, REDRAW_MS);
    return {
      end: () => {
        clearInterval(timer);
        draw();
        this.#line('');
      },
    };
  }

  #changes(live: Live, since: number): { end: () => void } {
    let timer: NodeJS.Timeout | undefined;
    const print = (): void => {
      timer = undefined;
      const time = `${((performance.now() - since) / 1000).toFixed(1).padStart(6)} s  `;
      const now = summary(live);
      if (now !== this.#lastSummary) this.#line(time + now);
      this.#lastSummary = now;
      const blockers = (live.maintenance?.status?.blockers ?? []).map(blockerLine);
      for (const line of blockers) if (!this.#toldBlockers.has(line)) this.#line(time + line);
      this.#toldBlockers = new Set(blockers);
    };
    // Many pods change at once: what changed within a moment is one change.
    const stopListening = live.onChange(() => {
      timer ??= setTimeout(print, LINE_MS);
    });
    print();
    return {
      end: () => {
        stopListening();
        clearTimeout(timer);
        print();
      },
    };
  }

  #bold(text: string): string {
    return this.#out.isTTY ? `\x1b[1m${text}\x1b[0m` : text;
  }

  #line(text: string): void {
    this.#out.write(`${text}\n`);
    this.#isAfterGap = text === '';
  }
}
