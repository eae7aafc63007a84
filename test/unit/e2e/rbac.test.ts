import { describe, expect, test } from '@jest/globals';
import type { AuditEntry } from '../../e2e/support/audit.ts';
import { compareRules, permissionsOf, permissionsUsed } from '../../e2e/support/rbac.ts';

const entry = (changes: Partial<AuditEntry>): AuditEntry => ({
  auditID: 'a',
  stage: 'ResponseComplete',
  verb: 'get',
  requestURI: '/',
  user: { username: 'system:serviceaccount:haulout:haulout' },
  objectRef: { resource: 'pods' },
  requestReceivedTimestamp: '',
  stageTimestamp: '',
  ...changes,
});

test('rules are taken apart into single permissions', () => {
  const rules = [{ apiGroups: ['', 'apps'], resources: ['a', 'b/c'], verbs: ['get', 'list'] }];
  expect([...permissionsOf(rules)]).toEqual([
    'get /a',
    'list /a',
    'get /b/c',
    'list /b/c',
    'get apps/a',
    'list apps/a',
    'get apps/b/c',
    'list apps/b/c',
  ]);
});

describe('what was used', () => {
  test.each<[string, Partial<AuditEntry>, string[]]>([
    ['an object of the core', {}, ['get /pods']],
    ['a subresource', { objectRef: { resource: 'pods', subresource: 'eviction' } }, ['get /pods/eviction']],
    ['another group', { objectRef: { resource: 'x', apiGroup: 'apps' } }, ['get apps/x']],
    ['what was answered with a conflict', { responseStatus: { code: 409 } }, ['get /pods']],
    ['nothing that was forbidden', { responseStatus: { code: 403 } }, []],
    ['nothing that another user did', { user: { username: 'admin' } }, []],
  ])('%s', (_, changes, expected) => {
    expect([...permissionsUsed([entry(changes), entry(changes)])]).toEqual(expected);
  });

  test('no path without an object', () => {
    const { objectRef: _, ...version } = entry({});
    expect([...permissionsUsed([version])]).toEqual([]);
  });
});

test('what is granted in vain is told when all tests have run, and what is used without a rule always', () => {
  const granted = new Set(['get /a', 'list /a']);
  const used = new Set(['get /a', 'get /b']);
  const missing = 'used, and not in the rules of the chart: get /b';
  expect(compareRules(granted, used, false)).toEqual([missing]);
  expect(compareRules(granted, used, true)).toEqual([
    'in the rules of the chart, and never used: list /a',
    missing,
  ]);
});
