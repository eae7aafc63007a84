/** The kills that there are, their names on the command line, and the order in which a seed takes them. */
import { createHash } from 'node:crypto';
import type { TripMoment } from '../../e2e/support/tripwire.ts';

export const MOMENTS = ['before', 'after', 'answered'] as const satisfies readonly TripMoment[];

export interface Kill {
  /** Write of the scenario, from 1. */
  readonly nth: number;
  readonly moment: (typeof MOMENTS)[number];
}

export interface Target extends Kill {
  readonly scenario: string;
}

export function targetsOf(scenario: string, writes: number): readonly Target[] {
  return Array.from({ length: writes }, (_, index) => index + 1).flatMap((nth) =>
    MOMENTS.map((moment) => ({ scenario, nth, moment })),
  );
}

/** `drain:3:after` */
export const nameOf = ({ scenario, nth, moment }: Target): string => `${scenario}:${nth}:${moment}`;

export function targetNamed(name: string): Target {
  const [, scenario = '', nth = '', moment = ''] = /^([^:]+):([1-9]\d*):([^:]+)$/.exec(name) ?? [];
  const known = MOMENTS.find((one) => one === moment);
  if (known === undefined)
    throw new Error(`${name} is no kill: SCENARIO:WRITE:${MOMENTS.join('|')}, such as drain:3:after`);
  return { scenario, nth: Number(nth), moment: known };
}

/**
 * By what each of them is and not by how many there are: a scenario that writes once more or less today, as some do, moves
 * none of the others.
 */
export function inOrder(seed: number, targets: readonly Target[]): readonly Target[] {
  return targets
    .map((target) => ({ target, at: hash(`${seed} ${nameOf(target)}`) }))
    .toSorted((a, b) => a.at.localeCompare(b.at))
    .map(({ target }) => target);
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
