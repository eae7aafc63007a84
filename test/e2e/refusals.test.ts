/** Refusals that do not come from a budget: said in the words of whoever refuses, tried again, and never taken as done. */
import { expect, test } from '@jest/globals';
import type { Pod } from '../../src/kube/types.ts';
import { sharedTestBed } from './support/beds.ts';
import { holdsFor } from './support/eventually.ts';
import { EvictionWebhook } from './support/webhook-server.ts';

const bed = sharedTestBed(import.meta.filename);

async function exists({ metadata: { namespace, name, uid } }: Pod): Promise<boolean> {
  const found = await bed.api.find<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`);
  return found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined;
}

test.concurrent('a machine that its webhook migrates (429): its words are kept, it is asked again, and it is never deleted', async () => {
  const island = await bed.island('migrates');
  const { node, namespace } = island;
  // As KubeVirt answers: first that it begins, then that it goes on.
  let asked = 0;
  const webhook = new EvictionWebhook(bed.api, `${bed.prefix}.migrates.test`, ({ pod }) => {
    if (!pod.startsWith('vm')) return undefined;
    asked++;
    const message =
      asked === 1 ? `Eviction triggered evacuation of VMI "${namespace}/vm"` : 'Evacuation in progress';
    return { code: 429, message };
  });
  await webhook.start(namespace);
  try {
    const placed = await bed.place(
      island,
      island.deployment('vm'),
      island.budget('vm', { minAvailable: 1 }),
      island.deployment('web', { replicas: 2 }),
    );
    const machine = placed.find(({ metadata }) => metadata.labels?.['app'] === 'vm');
    if (!machine) throw new Error('there is no machine');
    await bed.maintain(node, {
      drain: {
        deleteBlockedAfterSeconds: 1,
        unsatisfiableBudgets: 'Delete',
        blockedDeployments: 'Restart',
        retryIntervalSeconds: 1,
      },
    });
    const blocked = await bed.until(node, 'only the machine is left, in progress', ({ status }) => {
      const [blocker] = status?.blockers ?? [];
      return (
        status?.drain?.pods?.gone === 2 && (blocker?.message.endsWith('Evacuation in progress') ?? false)
      );
    });
    expect(blocked.status?.blockers).toMatchObject([
      {
        pod: { uid: machine.metadata.uid },
        cause: 'AdmissionDenied',
        nextStep: expect.stringContaining('asked again every 1 s, and never deleted'),
      },
    ]);
    expect(blocked.status?.phase).toBe('Draining');
    await holdsFor(5000, 'it is let be', async () => {
      expect(await exists(machine)).toBe(true);
      expect(bed.audit.podDeletions(namespace)).toEqual([]);
    });
    expect(asked).toBeGreaterThan(2);
    const patches = bed.audit.entries({
      verb: 'patch',
      resource: 'deployments',
      namespace,
      byOperator: true,
    });
    expect(patches).toEqual([]);
    // The migration is over.
    await bed.api.remove(`/api/v1/namespaces/${namespace}/pods/${machine.metadata.name}`);
    const drained = await bed.untilSaid(node, 'Ready', 'True/Drained');
    expect(drained.status?.drain?.pods).toMatchObject({ total: 3, gone: 3 });
    expect(drained.status?.drain?.failure).toBeUndefined();
  } finally {
    await webhook.stop();
  }
});

test.concurrent('a webhook that is down (500) has allowed nothing: the pods stay, and go when it is put right', async () => {
  const island = await bed.island('down');
  const { node, namespace } = island;
  const webhook = new EvictionWebhook(bed.api, `${bed.prefix}.down.test`, () => undefined);
  await webhook.start(namespace);
  try {
    const placed = await bed.place(island, island.deployment('web', { replicas: 2 }));
    await webhook.die();
    await bed.maintain(node, { drain: { retryIntervalSeconds: 1 } });
    const blocked = await bed.until(node, 'both are held up', ({ status }) => status?.blockersTotal === 2);
    for (const blocker of blocked.status?.blockers ?? []) {
      expect(blocker.cause).toBe('ApiError');
      expect(blocker.message).toContain(`failed calling webhook "${webhook.name}"`);
      expect(blocker.nextStep).toBe('tried again by itself');
    }
    await holdsFor(4000, 'nothing is taken as done', async () => {
      expect(await Promise.all(placed.map(exists))).toEqual([true, true]);
      expect((await bed.maintenance(node)).status?.drain?.pods).toMatchObject({ gone: 0, remaining: 2 });
    });
    const own = bed.audit.evictions(namespace).filter(({ byOperator }) => byOperator);
    const codes = own.map(({ code }) => code);
    expect(codes.length).toBeGreaterThan(2);
    expect(new Set(codes)).toEqual(new Set([500]));
  } finally {
    await webhook.stop();
  }
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});

test.concurrent('a policy of the API server that refuses is named with its words', async () => {
  const island = await bed.island('policy');
  const { node, namespace } = island;
  const [pod] = await bed.place(island, island.deployment('web'));
  const name = `${bed.prefix}-no-evictions`;
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
  const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
  const [apiVersion, matchConstraints] = [
    'admissionregistration.k8s.io/v1',
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
      ],
    },
  ] as const;
  await bed.api.create(policies, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: { matchConstraints, validations: [{ expression: 'false', message: 'no evictions today' }] },
  });
  try {
    await bed.api.create(bindings, {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    });
    await bed.eventually('the policy is in force', async () => {
      const answer = await bed.api.request(
        'POST',
        `/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name ?? ''}/eviction`,
        {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: pod?.metadata.name },
          deleteOptions: { dryRun: ['All'] },
        },
      );
      return answer.status === 422;
    });
    await bed.maintain(node, { drain: { retryIntervalSeconds: 1 } });
    const blocked = await bed.untilSaid(node, 'DrainBlocked', 'True/AdmissionDenied');
    expect(blocked.status?.blockers?.[0]?.message).toContain('no evictions today');
  } finally {
    await bed.api.remove(`${bindings}/${name}`);
    await bed.api.remove(`${policies}/${name}`);
  }
  await bed.untilSaid(node, 'Ready', 'True/Drained');
});
