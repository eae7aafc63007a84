import { describe, expect, it } from '@jest/globals';
import { withDefaults } from '../../../src/api/defaults.ts';
import { withSchemaDefaults } from '../../../src/api/schema.ts';
import type { NodeMaintenanceSpec } from '../../../src/api/types.generated.ts';

/** As design and docs promise them; the code takes them from the CRD. */
const defaults = {
  nodeDrainPolicy: 'Evacuate',
  nodeDeletePolicy: 'Orphan',
  nodeDeleteTimeoutSeconds: 3600,
  suspend: false,
  excludeFromLoadBalancers: true,
  drain: {
    onTimeout: 'Fail',
    retryIntervalSeconds: 20,
    skipWaitForDeleteTimeoutSeconds: 0,
    unmanagedPods: 'Block',
    emptyDirPods: 'Evict',
    unsatisfiableBudgets: 'Wait',
    blockedDeployments: 'Wait',
    volumes: { maxConcurrent: 1, detachTimeoutSeconds: 120, reattachTimeoutSeconds: 90 },
  },
};

describe('withDefaults', () => {
  it('fills in what is missing', () => {
    expect(withDefaults({ nodeName: 'w' })).toEqual({ nodeName: 'w', ...defaults });
  });

  it('fills in what is missing under drain, and leaves the rest as it is', () => {
    const drain = {
      onTimeout: 'Delete',
      timeoutSeconds: 60,
      podSelector: { matchLabels: { a: 'b' } },
    } as const;
    expect(withDefaults({ nodeName: 'w', suspend: true, drain })).toEqual({
      ...defaults,
      nodeName: 'w',
      suspend: true,
      drain: { ...defaults.drain, ...drain },
    });
  });

  it('takes null for unset, as the API server does', () => {
    const nulls = {
      nodeName: 'w',
      suspend: null,
      reason: null,
      drain: { onTimeout: null, timeoutSeconds: null },
    };
    expect(withDefaults(nulls as unknown as NodeMaintenanceSpec)).toEqual({ nodeName: 'w', ...defaults });
  });

  it('changes nothing in its argument', () => {
    const spec = { nodeName: 'w', drain: {} };
    const result = withDefaults(spec);
    expect(spec).toEqual({ nodeName: 'w', drain: {} });
    result.drain.unmanagedPods = 'Evict';
    expect(withDefaults({ nodeName: 'w' }).drain.unmanagedPods).toBe('Block');
  });

  it('is stable: a second pass finds nothing to do', () => {
    const once = withDefaults({ nodeName: 'w', taints: [{ key: 'a', effect: 'NoSchedule' }] });
    expect(withDefaults(once)).toEqual(once);
  });
});

describe('withSchemaDefaults', () => {
  it('keeps what it does not know and what is of the wrong type, for the validator to speak about', () => {
    const schema = { properties: { a: { type: 'object', properties: { b: { default: 1 } } } } };
    expect(withSchemaDefaults(schema, { a: 'text', z: null })).toEqual({ a: 'text', z: null });
  });

  it('does not take the members of every object for fields', () => {
    const schema = { properties: { labels: { additionalProperties: { type: 'string' } } } };
    const labels = { constructor: 'x', ['__proto__']: 'y' };
    const result = withSchemaDefaults(schema, { labels });
    expect(Object.entries((result as { labels: object }).labels)).toEqual(Object.entries(labels));
  });
});
