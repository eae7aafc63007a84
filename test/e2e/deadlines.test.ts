// timeoutSeconds with both outcomes, deleteBlockedAfterSeconds, and what they never touch.
import { describe, expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import type { Island } from './support/island.ts';
import { condition } from './support/status.ts';
import { EvictionWebhook } from './support/webhook-server.ts';

const bed = sharedTestBed(import.meta.filename);

/** Two pods that leave, and one whose budget never lets it go. Returns the one. */
async function withClosedBudget(island: Island): Promise<Pod> {
  const budget = island.budget('closed', { minAvailable: 1 });
  const pods = await bed.place(
    island,
    island.deployment('free', { replicas: 2 }),
    island.deployment('closed', { gracePeriodSeconds: 7 }),
    budget,
  );
  return named(pods, 'closed');
}

function named(pods: readonly Pod[], app: string): Pod {
  const found = pods.find(({ metadata }) => metadata.labels?.['app'] === app);
  if (!found) throw new Error(`no pod of ${app} on the node`);
  return found;
}

async function exists(pod: Pod): Promise<boolean> {
  const { namespace, name, uid } = pod.metadata;
  const found = await bed.api.find<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
  return found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined;
}

describe('onTimeout Fail', () => {
  test('stops evicting, keeps the cordon, and begins again after an edit', async () => {
    const island = await bed.island('fail');
    const pod = await withClosedBudget(island);
    const drain = { timeoutSeconds: 10, retryIntervalSeconds: 1 };
    const maintenance = await bed.maintain(island.node, { drain });

    const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/PodDisruptionBudget');
    expect(held.status?.blockers?.[0]?.nextStep).toMatch(
      /^the drain gives up at \d{4}-.*Z \(timeoutSeconds\)$/,
    );
    const failed = await bed.untilSaid(maintenance, 'Ready', 'False/DrainFailed');
    const { drain: times } = failed.status ?? {};
    const took = Date.parse(times?.failure?.time ?? '') - Date.parse(held.status?.drain?.startTime ?? '');
    expect(took).toBeGreaterThanOrEqual(10_000);
    expect(took).toBeLessThanOrEqual(13_000);
    // Evicting is not allowed any more; what it took is kept.
    expect(times?.startTime).toBeUndefined();
    expect(times?.activeSeconds).toBeGreaterThanOrEqual(10);
    expect(failed.status?.phase).toBe('Failed');
    expect(condition(failed, 'Stalled')).toMatchObject({ status: 'True', reason: 'DrainFailed' });
    expect(condition(failed, 'Reconciling')).toBeUndefined();
    expect(condition(failed, 'Cordoned')).toMatchObject({ status: 'True' });
    expect(times?.pods).toMatchObject({ total: 3, gone: 2, remaining: 1 });
    expect(failed.status?.blockers).toMatchObject([{ cause: 'PodDisruptionBudget' }]);
    await bed.eventually('the failure is an event', async () =>
      (await bed.api.events('NodeMaintenance', maintenance)).some(({ reason }) => reason === 'DrainFailed'),
    );

    // Nothing is evicted any more, even though the budget allows it now.
    const posts = bed.audit.evictions(island.namespace).length;
    await bed.kubectl.run(['delete', 'pdb', 'closed', `--namespace=${island.namespace}`]);
    await holdsFor(3000, 'the drain has given up', async () => {
      expect(bed.audit.evictions(island.namespace)).toHaveLength(posts);
      expect((await bed.api.node(island.node)).spec?.unschedulable).toBe(true);
    });
    expect(await exists(pod)).toBe(true);

    await bed.edit(maintenance, { drain: { timeoutSeconds: 60 } });
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained', { timeoutMs: 10_000 });
    expect(condition(drained, 'Stalled')).toBeUndefined();
    expect(drained.status?.drain?.failure).toBeUndefined();
    expect(bed.audit.podDeletions(island.namespace)).toEqual([]);
  });
});

describe('onTimeout Delete', () => {
  test('deletes what a budget refuses, after the deadline and not before', async () => {
    const island = await bed.island('delete');
    const pod = await withClosedBudget(island);
    bed.expectPodDeletions(island.namespace);
    const drain = { timeoutSeconds: 4, onTimeout: 'Delete', retryIntervalSeconds: 1 } as const;
    const maintenance = await bed.maintain(island.node, { drain });

    const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/PodDisruptionBudget');
    expect(held.status?.blockers?.[0]?.nextStep).toMatch(/^deleted at \d{4}-.*Z \(timeoutSeconds\)$/);
    const drained = await bed.untilSaid(maintenance, 'Drained', 'True/Drained');
    const [deletion, ...others] = bed.audit.podDeletions(island.namespace);
    expect(others).toEqual([]);
    expect(deletion?.objectRef?.name).toBe(pod.metadata.name);
    expect(deletion?.requestObject).toMatchObject({ preconditions: { uid: pod.metadata.uid } });
    // With its own grace period: none is asked for, and never 0.
    expect(deletion?.requestObject).not.toHaveProperty('gracePeriodSeconds');
    const at = Date.parse(deletion?.requestReceivedTimestamp ?? '');
    const deadline = Date.parse(drained.status?.drain?.startTime ?? '') + 4000;
    expect(at).toBeGreaterThanOrEqual(deadline);
    expect(at).toBeLessThan(deadline + 3000);
    // It was the server's own "no" that allowed it.
    const refusals = bed.audit.evictions(island.namespace, { uid: pod.metadata.uid });
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.every(({ code }) => code === 429)).toBe(true);
    expect(drained.status?.phase).toBe('UnderMaintenance');
  });

  test('spares pods held by Block and pods that a webhook refuses', async () => {
    const island = await bed.island('spared');
    const webhook = new EvictionWebhook(bed.api, `${bed.prefix}.spared.test`, ({ pod }) =>
      pod.startsWith('vm') ? { code: 429, message: 'the machine migrates first' } : undefined,
    );
    await webhook.start(island.namespace);
    try {
      bed.expectPodDeletions(island.namespace);
      const pods = await bed.place(
        island,
        island.barePod('bare'),
        island.deployment('vm'),
        island.deployment('vm-with-budget'),
        island.budget('vm-with-budget', { minAvailable: 1 }),
        island.deployment('closed'),
        island.budget('closed', { minAvailable: 1 }),
      );
      const drain = { timeoutSeconds: 3, onTimeout: 'Delete', retryIntervalSeconds: 1 } as const;
      const maintenance = await bed.maintain(island.node, { drain });
      await bed.eventually(
        'what only a budget holds up is deleted',
        async () => !(await exists(named(pods, 'closed'))),
      );

      const spared = ['bare', 'vm', 'vm-with-budget'].map((app) => named(pods, app));
      const causes = ['AdmissionDenied', 'AdmissionDenied', 'UnmanagedPod'];
      await bed.until(
        maintenance,
        'three pods are left',
        ({ status }) => status?.drain?.pods?.remaining === 3 && status.blockersTotal === 3,
      );
      await holdsFor(5000, 'the others are spared', async () => {
        for (const pod of spared)
          expect([pod.metadata.name, await exists(pod)]).toEqual([pod.metadata.name, true]);
        expect(bed.audit.podDeletions(island.namespace)).toHaveLength(1);
      });
      const { status } = await bed.maintenance(maintenance);
      expect(status?.blockers?.map(({ cause }) => cause)).toEqual(causes);
      expect(status?.blockers?.[0]?.message).toContain('the machine migrates first');
      // The webhook was asked about both, so that the server's last word on the second was the webhook's.
      const asked = new Set(webhook.reviews.map(({ pod }) => pod));
      expect(asked).toContain(named(pods, 'vm').metadata.name);
      expect(asked).toContain(named(pods, 'vm-with-budget').metadata.name);
      expect(bed.audit.podDeletions(island.namespace)[0]?.objectRef?.name).toBe(
        named(pods, 'closed').metadata.name,
      );
    } finally {
      await webhook.stop();
    }
  });
});

describe('deleteBlockedAfterSeconds', () => {
  test('deletes a pod that its budget has refused for so long', async () => {
    const island = await bed.island('blocked-after');
    const pod = await withClosedBudget(island);
    bed.expectPodDeletions(island.namespace);
    const maintenance = await bed.maintain(island.node, { drain: { deleteBlockedAfterSeconds: 3 } });
    const held = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/PodDisruptionBudget');
    const [blocker] = held.status?.blockers ?? [];
    const due = Date.parse(blocker?.since ?? '') + 3000;
    expect(blocker?.nextStep).toBe(
      `deleted at ${new Date(due).toISOString().replace('.000Z', 'Z')} (deleteBlockedAfterSeconds)`,
    );
    await bed.untilSaid(maintenance, 'Drained', 'True/Drained');
    const [deletion, ...others] = bed.audit.podDeletions(island.namespace);
    expect(others).toEqual([]);
    expect(deletion?.requestObject).toMatchObject({ preconditions: { uid: pod.metadata.uid } });
    const at = Date.parse(deletion?.requestReceivedTimestamp ?? '');
    expect(at).toBeGreaterThanOrEqual(due);
    expect(at).toBeLessThan(due + 3000);
  });
});

describe('suspend', () => {
  test('stops the clock of the deadline', async () => {
    const island = await bed.island('suspended');
    await withClosedBudget(island);
    const maintenance = await bed.maintain(island.node, { drain: { timeoutSeconds: 8 } });
    const begun = await bed.untilSaid(maintenance, 'DrainBlocked', 'True/PodDisruptionBudget');
    const start = Date.parse(begun.status?.drain?.startTime ?? '');
    await bed.eventually('two seconds of draining are over', () => Date.now() >= start + 2000);
    await bed.edit(maintenance, { suspend: true });
    const suspended = await bed.untilSaid(maintenance, 'Ready', 'False/Suspended');
    const active = suspended.status?.drain?.activeSeconds ?? 0;
    expect(active).toBeGreaterThanOrEqual(2);
    expect(active).toBeLessThan(8);
    expect(suspended.status?.drain?.startTime).toBeUndefined();
    await holdsFor(9000, 'a suspended drain does not fail', async () => {
      expect(condition(await bed.maintenance(maintenance), 'Ready')?.reason).toBe('Suspended');
    });

    await bed.edit(maintenance, { suspend: false });
    const resumed = await bed.until(
      maintenance,
      'goes on',
      ({ status }) => status?.drain?.startTime !== undefined,
    );
    const failed = await bed.untilSaid(maintenance, 'Ready', 'False/DrainFailed');
    const again =
      Date.parse(failed.status?.drain?.failure?.time ?? '') -
      Date.parse(resumed.status?.drain?.startTime ?? '');
    const rest = (8 - active) * 1000;
    expect(again).toBeGreaterThanOrEqual(rest - 1000);
    expect(again).toBeLessThanOrEqual(rest + 2000);
  });
});
