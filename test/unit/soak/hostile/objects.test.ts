import { describe, expect, test } from '@jest/globals';
import { SeededRandom } from '../../../e2e/support/random.ts';
import { answerProblem } from '../../../soak/hostile/checks.ts';
import { ObjectMaker } from '../../../soak/hostile/objects.ts';
import { SAMPLES } from '../../../soak/hostile/text.ts';

const CATEGORIES =
  'Cc Cf Cn Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs'.split(' ');

test.each(CATEGORIES)('hostile text has characters of category %s', (category) => {
  expect(SAMPLES.join(' ')).toMatch(new RegExp(`\\p{gc=${category}}`, 'u'));
});

const make = (seed: number) => {
  const words = { nodes: ['a', 'b'], labelKeys: ['app'], labelValues: ['web'] } as const;
  const maker = new ObjectMaker(new SeededRandom(seed), words);
  return Array.from({ length: 1_000 }, (_, index) => maker.make(`fuzz-${index}`));
};

describe('fuzzed objects', () => {
  const objects = make(1);

  test('are the same for the same seed', () => {
    expect(JSON.stringify(make(1))).toBe(JSON.stringify(objects));
    expect(JSON.stringify(make(2))).not.toBe(JSON.stringify(objects));
  });

  test('have hostile names, a few percent of them; those that are valid do not come twice', () => {
    const names = objects.map(({ metadata }) => metadata.name);
    const valid = names.filter((name) => answerProblem(name, 201, {}) === undefined);
    expect(valid.length).toBeGreaterThan(900);
    expect(valid.length).toBeLessThan(990);
    expect(new Set(valid).size).toBe(valid.length);
    expect(valid).toContain('constructor');
    expect(Math.max(...valid.map(({ length }) => length))).toBe(253);
    expect(new Set(names.filter((name) => !valid.includes(name))).size).toBeGreaterThan(10);
  });
});

const refusal = (...fields: readonly string[]) => ({
  message: 'NodeMaintenance.haulout.dev "x" is invalid',
  details: { causes: fields.map((field) => ({ field })) },
});

describe('an answer', () => {
  test('names the field that is wrong, and the name where that is', () => {
    expect(answerProblem('x', 422, refusal('spec.drain.timeoutSeconds'))).toBeUndefined();
    expect(answerProblem('x', 422, refusal())).toContain('without a word');
    expect(answerProblem('..', 422, refusal('metadata.name'))).toBeUndefined();
    expect(answerProblem('..', 422, refusal('spec.reason'))).toContain('nothing is said of the name');
    expect(answerProblem('x', 400, { message: 'no' })).toContain('without a word');
  });

  test('is no error of the server', () => {
    expect(answerProblem('x', 500, refusal('spec'))).toContain('500');
  });

  test('takes no name that is none', () => {
    expect(answerProblem('a.b', 201, {})).toBeUndefined();
    for (const name of ['', '.', '..', 'a/b', 'A', 'a'.repeat(254), 'n\u00f6'])
      expect(answerProblem(name, 201, {})).toBeDefined();
  });
});
