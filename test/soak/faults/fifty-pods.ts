/** Fifty pods with budgets and volumes that are quick to stop. */
import type { Manifest } from '../../e2e/support/builders.ts';
import type { Island } from '../../e2e/support/island.ts';

const quick = { stopsIn: '0s' };

export function fiftyPods(island: Island): readonly Manifest[] {
  return [
    island.deployment('web', { ...quick, replicas: 32 }),
    island.deployment('lane', { ...quick, replicas: 6 }),
    island.budget('lane', { maxUnavailable: 2 }),
    // No StatefulSet: its next pod may have the name before the disruption controller has seen the last one go, and is
    // then taken for a disrupted one for two minutes.
    island.deployment('quorum', { ...quick, replicas: 6 }),
    island.budget('quorum', { minAvailable: 4 }),
    ...island.volumes(6),
    island.statefulSet('db', { ...quick, replicas: 6, claimTemplates: [island.claimTemplate('data')] }),
    island.daemonSet('agent'),
  ];
}
