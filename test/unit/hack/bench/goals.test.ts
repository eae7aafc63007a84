import { describe, expect, test } from '@jest/globals';
import { describeGoal, describeMiss, type Goal, isMet } from '../../../../hack/bench/goals.ts';
import { metric } from '../../../../hack/bench/process-meter.ts';

const wait: Goal = { what: 'wait', value: 1, unit: 's', limit: 1, under: true };
const requests: Goal = { what: '50 pods, requests', value: 70, unit: 'requests', limit: 70 };

describe('goals', () => {
  test('at most: the limit is allowed; under: it is not', () => {
    expect(isMet(requests)).toBe(true);
    expect(isMet({ ...requests, value: 71 })).toBe(false);
    expect(isMet(wait)).toBe(false);
    expect(isMet({ ...wait, value: 0.999 })).toBe(true);
  });

  test('what was not measured is not met', () => {
    expect(isMet({ ...requests, value: Number.NaN })).toBe(false);
    expect(isMet({ ...wait, value: Number.NaN })).toBe(false);
    expect(isMet({ ...wait, value: -Infinity })).toBe(false);
  });

  test('as sentences', () => {
    expect(describeGoal(requests)).toBe('at most 70 requests');
    expect(describeGoal({ ...requests, limit: 1977 })).toBe('at most 1,977 requests');
    expect(describeGoal(wait)).toBe('under 1 s');
    expect(describeMiss({ ...requests, value: 71 })).toBe(
      '50 pods, requests: 71 requests, the goal is at most 70 requests',
    );
    expect(describeMiss({ ...wait, value: 12.345 })).toBe('wait: 12.3 s, the goal is under 1 s');
  });
});

test('a metric without labels is found among others', () => {
  const text = '# HELP lag x\nlag_max 3\nlag{le="1"} 2\nlag 0.0105\n';
  expect(metric(text, 'lag')).toBe(0.0105);
  expect(() => metric(text, 'la')).toThrow('/metrics has no la');
});
