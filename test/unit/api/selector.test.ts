import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Labels, parseSelector } from '../../../src/api/selector.ts';
import type { LabelSelector } from '../../../src/kube/types.ts';

function matches(selector: LabelSelector | undefined, labels: Labels): boolean {
  const parsed = parseSelector(selector, 'nothing');
  if (parsed.kind === 'invalid') throw new Error(parsed.message);
  return parsed.matches(labels);
}

function expression(key: string, operator: string, ...values: string[]): LabelSelector {
  return { matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }] };
}

describe('a selector that is not there', () => {
  it('means what the caller says', () => {
    const labels = { a: 'b' };
    expect(parseSelector(undefined, 'everything')).toMatchObject({ kind: 'ok' });
    for (const [unset, expected] of [['everything', true] as const, ['nothing', false] as const]) {
      const parsed = parseSelector(undefined, unset);
      expect(parsed.kind === 'ok' && parsed.matches(labels)).toBe(expected);
      expect(parsed.kind === 'ok' && parsed.matches(undefined)).toBe(expected);
    }
  });
});

describe('an empty selector', () => {
  it.each<LabelSelector>([{}, { matchLabels: {} }, { matchExpressions: [] }])(
    '%j matches everything',
    (selector) => {
      expect(matches(selector, undefined)).toBe(true);
      expect(matches(selector, { a: 'b' })).toBe(true);
    },
  );
});

describe('matching', () => {
  const web = { app: 'web', tier: '' };
  it.each<[LabelSelector, Labels, boolean]>([
    [{ matchLabels: { app: 'web' } }, web, true],
    [{ matchLabels: { app: 'db' } }, web, false],
    [{ matchLabels: { app: 'web' } }, undefined, false],
    [{ matchLabels: { app: 'web', tier: '' } }, web, true],
    [{ matchLabels: { tier: '' } }, { app: 'web' }, false],
    [{ matchLabels: { app: 'web', zone: 'a' } }, web, false],
    [expression('app', 'In', 'db', 'web'), web, true],
    [expression('app', 'In', 'db'), web, false],
    [expression('zone', 'In', 'a'), web, false],
    [expression('app', 'NotIn', 'db'), web, true],
    [expression('app', 'NotIn', 'db', 'web'), web, false],
    [expression('zone', 'NotIn', 'a'), web, true],
    [expression('zone', 'NotIn', 'a'), undefined, true],
    [expression('tier', 'Exists'), web, true],
    [expression('zone', 'Exists'), web, false],
    [expression('zone', 'DoesNotExist'), web, true],
    [expression('tier', 'DoesNotExist'), web, false],
    [expression('zone', 'DoesNotExist'), undefined, true],
    [{ matchLabels: { app: 'web' }, ...expression('tier', 'DoesNotExist') }, web, false],
    [{ matchLabels: { app: 'web' }, ...expression('zone', 'DoesNotExist') }, web, true],
    [expression('app', 'Exists'), { App: 'web' }, false],
    // Not labels, although every object literal has them.
    [expression('constructor', 'Exists'), {}, false],
    [expression('toString', 'DoesNotExist'), { app: 'web' }, true],
    [{ matchLabels: { constructor: 'x' } }, { constructor: 'x' }, true],
    [{ matchLabels: { 'app.kubernetes.io/name': 'web' } }, { 'app.kubernetes.io/name': 'web' }, true],
  ])('%j on %j: %s', (selector, labels, expected) => {
    expect(matches(selector, labels)).toBe(expected);
  });
});

describe('what cannot be parsed', () => {
  const long = 'x'.repeat(64);
  it.each<[LabelSelector, string]>([
    [expression('app', 'in', 'web'), 'operator "in" is not one of In, NotIn, Exists, DoesNotExist'],
    [expression('app', 'Gt', '1'), 'operator "Gt" is not one of'],
    [expression('app', 'In'), 'operator In needs at least one value'],
    [expression('app', 'NotIn'), 'operator NotIn needs at least one value'],
    [expression('app', 'Exists', 'web'), 'operator Exists takes no values'],
    [expression('app', 'DoesNotExist', 'web'), 'operator DoesNotExist takes no values'],
    [expression('', 'Exists'), 'label key ""'],
    [expression('a b', 'Exists'), 'label key "a b"'],
    [expression('a/b/c', 'Exists'), 'label key "a/b/c"'],
    [expression('/name', 'Exists'), 'before the "/"'],
    [expression('Example.com/name', 'Exists'), 'before the "/"'],
    [expression(`${'x'.repeat(254)}/name`, 'Exists'), 'before the "/"'],
    [expression('example.com/', 'Exists'), 'label key "example.com/"'],
    [expression(long, 'Exists'), 'at most 63'],
    [expression('app', 'In', 'web', '-x'), 'value "-x"'],
    [expression('app', 'In', long), 'at most 63'],
    [expression('app', 'In', 'web\n'), 'value "web\\n"'],
    [{ matchLabels: { app: 'a b' } }, 'label app, value "a b"'],
    [{ matchLabels: { 'a b': 'x' } }, 'label key "a b"'],
    [{ matchLabels: { app: '_x' }, ...expression('a b', 'Exists') }, 'label key "a b"'],
  ])('%j: %s', (selector, message) => {
    const parsed = parseSelector(selector, 'everything');
    expect(parsed.kind === 'invalid' && parsed.message).toContain(message);
  });

  it.each(['a', 'A', '0', 'a.b', 'a_b', 'a-b', 'x'.repeat(63), 'example.com/A_b', `${'x'.repeat(253)}/n`])(
    'but key %s can',
    (key) => {
      expect(parseSelector(expression(key, 'Exists'), 'nothing').kind).toBe('ok');
    },
  );
});

describe('for any labels', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'example.com/d');
  const value = fc.constantFrom('', 'x', 'y', 'z');
  const labelSet = fc.dictionary(key, value, { maxKeys: 4 });
  const values = fc.array(value, { minLength: 1, maxLength: 3 });
  const requirement = fc.oneof(
    fc.record({ key, operator: fc.constantFrom('In', 'NotIn'), values }),
    fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
  );

  it('NotIn is the opposite of In, DoesNotExist of Exists', () => {
    fc.assert(
      fc.property(key, values, labelSet, (name, wanted, labels) => {
        expect(matches(expression(name, 'NotIn', ...wanted), labels)).toBe(
          !matches(expression(name, 'In', ...wanted), labels),
        );
        expect(matches(expression(name, 'DoesNotExist'), labels)).toBe(
          !matches(expression(name, 'Exists'), labels),
        );
      }),
    );
  });

  it('a selector matches exactly when each of its parts does', () => {
    fc.assert(
      fc.property(
        labelSet,
        fc.array(requirement, { maxLength: 4 }),
        labelSet,
        (matchLabels, list, labels) => {
          const parts: LabelSelector[] = [
            ...Object.entries(matchLabels).map(([name, wanted]) => expression(name, 'In', wanted)),
            ...list.map((one) => ({ matchExpressions: [one] })),
          ];
          expect(matches({ matchLabels, matchExpressions: list }, labels)).toBe(
            parts.every((part) => matches(part, labels)),
          );
        },
      ),
    );
  });

  it('an object selects itself by its labels', () => {
    fc.assert(fc.property(labelSet, (labels) => expect(matches({ matchLabels: labels }, labels)).toBe(true)));
  });
});
