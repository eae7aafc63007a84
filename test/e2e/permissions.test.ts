/** Who may do what: permissions that the chart takes away from the operator, and those that it asks of users. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ownTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';
import { OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import { condition } from './support/status.ts';

const bed = ownTestBed(import.meta.filename, {
  chartValues: {
    allowPodDeletion: 'false',
    allowDeploymentRestart: 'false',
    'authorization.enabled': 'true',
    'rbac.aggregateToEdit': 'true',
  },
});

const OPERATOR = `system:serviceaccount:${OPERATOR_NAMESPACE}:haulout`;

beforeAll(async () => {
  // As the chart's Deployment starts it with these values.
  const flags = ['--allow-pod-deletion=false', '--allow-deployment-restart=false'];
  await bed.startOperator({ flags: [...flags, '--max-unavailable-nodes=100%'] });
}, 60_000);

async function canI(user: string, ...what: readonly string[]): Promise<string> {
  const { stdout } = await bed.kubectl.try(['auth', 'can-i', ...what, `--as=${user}`, '--all-namespaces']);
  return stdout.trim();
}

describe('what the operator was not permitted to do', () => {
  test('is not in its ClusterRole', async () => {
    expect(await canI(OPERATOR, 'delete', 'pods')).toBe('no');
    expect(await canI(OPERATOR, 'patch', 'deployments.apps')).toBe('no');
    expect(await canI(OPERATOR, 'create', 'pods', '--subresource=eviction')).toBe('yes');
  });

  test.each([
    ['deletion', { onTimeout: 'Delete', timeoutSeconds: 1 }, 'allowPodDeletion: true'],
    ['restart', { blockedDeployments: 'Restart' }, 'allowDeploymentRestart: true'],
  ] as const)(
    '%s: a maintenance that asks for it is Stalled with the value of the chart, and evicts when it does not ask',
    async (name, drain, value) => {
      const island: Island = await bed.island(name);
      const { node, namespace } = island;
      await bed.place(island, island.deployment('web', { replicas: 2 }));
      await bed.maintain(node, { drain });
      const stalled = await bed.untilSaid(node, 'Stalled', 'True/NotPermitted');
      expect(condition(stalled, 'Ready')).toMatchObject({
        status: 'False',
        reason: 'NotPermitted',
        message: expect.stringContaining(value),
      });
      expect(bed.audit.evictions(namespace)).toEqual([]);
      await bed.edit(node, { drain: null });
      await bed.untilSaid(node, 'Ready', 'True/Drained');
      await bed.endMaintenance(node);
    },
  );
});

describe('users', () => {
  test('who has view sees maintenances; who has edit writes them where the chart says so', async () => {
    await bed.kubectl.apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'viewer' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer' }],
    });
    await bed.kubectl.apply(...jane());
    await bed.eventually(
      'the roles are aggregated',
      async () => (await canI('jane', 'create', 'nmaint')) === 'yes',
    );
    expect(await canI('viewer', 'watch', 'nmaint')).toBe('yes');
    expect(await canI('viewer', 'delete', 'nmaint')).toBe('no');
  });

  test('the author of a maintenance needs the permission on the Node, for writing and for editing it', async () => {
    const island = await bed.island('authors');
    const { node, spares } = island;
    const [other = ''] = spares;
    const patchNode = { apiGroups: [''], resources: ['nodes'], resourceNames: [node], verbs: ['patch'] };
    await bed.kubectl.apply(...jane(patchNode));
    const create = async (name: string, of: string) =>
      bed.kubectl.try(['create', '--as=jane', '-f', '-'], {
        stdin: JSON.stringify(maintenance(name, of, {})),
      });
    await bed.eventually('the policy has begun, and the permission as well', async () => {
      const refused = await create(`${node}-x`, 'no-such-node');
      return (
        refused.stderr.includes('those only who have the permission') &&
        (await canI('jane', 'patch', `node/${node}`)) === 'yes'
      );
    });
    const refused = await create(other, other);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining(
        `a maintenance of node ${other} may be written by those only who have the permission patch on that node`,
      ),
    ]);
    expect(await create(node, node)).toMatchObject({ code: 0 });
    // The operator's own writes pass.
    await bed.untilSaid(node, 'Ready', 'True/Drained');

    await bed.maintain(other);
    await bed.untilSaid(other, 'Ready', 'True/Drained');
    const edit = (name: string) =>
      bed.kubectl.try([
        'patch',
        'nmaint',
        name,
        '--as=jane',
        '--type=merge',
        '--patch={"spec":{"suspend":true}}',
      ]);
    expect(await edit(other)).toMatchObject({ code: 1 });
    expect(await edit(node)).toMatchObject({ code: 0 });
    await bed.endMaintenance(node);
    await bed.endMaintenance(other);
  });
});

/** A ClusterRole of her own, and edit in the whole cluster. */
function jane(...rules: readonly object[]) {
  return [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'jane' },
      rules,
    },
    ...['jane', 'edit'].map((role) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `jane-${role}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    })),
  ];
}
