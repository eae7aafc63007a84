/** What `make soak` runs: the long form of a test of endurance. The short forms are end-to-end tests. */
import type { Goal } from '../bench/goals.ts';

export interface SoakContext {
  /** For schedules and objects that are made by chance: the same seed makes the same ones. */
  readonly seed: number;
  /** How many of them, where the form counts something; its own number unless given. */
  readonly count: number | undefined;
  /** The one case that is to be played, by the name under which it was reported; only for forms that know it. */
  readonly only?: string | undefined;
  /** Aborted when the run is interrupted; what counts things then says how far it has come. */
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

export interface SoakResult {
  /** What was done, as one sentence with figures. */
  readonly summary: string;
  readonly goals: readonly Goal[];
  /** What must never happen and did, each with what is needed to see it again. */
  readonly violations: readonly string[];
  /** For documents and plots; written with --json. */
  readonly figures?: object;
}

export interface SoakForm {
  /** As the command line knows it. */
  readonly name: string;
  readonly title: string;
  readonly run: (context: SoakContext) => Promise<SoakResult>;
  /** Writes what was measured into documents, where --fill asks for it; returns a sentence about each of them. */
  readonly fill?: (result: SoakResult, asked: Pick<SoakContext, 'seed' | 'count'>) => readonly string[];
}
