/** The chart as users install, upgrade and uninstall it, with helm 3 and helm 4, while nodes are in maintenance. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { nodeMaintenancePath } from '../../src/api/names.ts';
import { ownTestBed } from './support/beds.ts';
import {
  CRD,
  DEPLOYMENT,
  Helm,
  olderChart,
  type Scaled,
  startStandIn,
  stopsWithDeployment,
} from './support/helm.ts';
import { enforceRestrictedPods, OPERATOR_NAMESPACE } from './support/install.ts';
import type { Island } from './support/island.ts';
import { said } from './support/status.ts';

const bed = ownTestBed(import.meta.filename, { nodes: 3 });

const JOB = `/apis/batch/v1/namespaces/${OPERATOR_NAMESPACE}/jobs/haulout-release`;
const ROLES = `/apis/rbac.authorization.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/roles/haulout-release`;

async function drained(name: string): Promise<Island> {
  const island = await bed.island(name);
  await bed.place(island, island.deployment('web', { replicas: 2 }));
  return island;
}

beforeAll(async () => enforceRestrictedPods(bed.kubectl));

test('a pod that is not as the PodSecurity level restricted asks for is refused beside the operator', async () => {
  const pod = ['run', 'ordinary', '--image=example.com/none', `--namespace=${OPERATOR_NAMESPACE}`];
  const { code, stderr } = await bed.kubectl.try([...pod, '--dry-run=server']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('violates PodSecurity "restricted:latest"')]);
});

describe.each(['helm', 'helm3'] as const)('%s', (version) => {
  test('upgrade in the middle of a maintenance, uninstall with it, and install again', async () => {
    const helm = new Helm(bed, version);
    await helm.install({}, olderChart());
    const first = await startStandIn(bed, `${version}-1`);
    const island = await drained(version);
    const { node } = island;
    const before = await bed.snapshot(node);
    await bed.maintain(node);
    const old = await bed.untilSaid(node, 'Ready', 'True/Drained');
    await expect(bed.kubectl.run(['explain', 'nmaint.spec.suspend'])).rejects.toThrow('field');

    await helm.install();
    const upgraded = await bed.maintenance(node);
    expect([upgraded.metadata.uid, upgraded.status]).toEqual([old.metadata.uid, old.status]);
    await bed.edit(node, { suspend: true });
    expect((await bed.maintenance(node)).spec.suspend).toBe(true);
    await bed.edit(node, { suspend: false });
    await bed.untilSaid(node, 'Ready', 'True/Drained');

    const [{ helm: output, job }] = await Promise.all([helm.uninstall(), stopsWithDeployment(bed, first)]);
    expect([job.code, job.stdout, job.stderr]).toEqual([
      0,
      expect.stringContaining(`maintenance ${node} is released`),
      '',
    ]);
    expect([output.code, output.stderr]).toEqual([0, expect.any(String)]);
    expect(await bed.snapshot(node)).toEqual(before);
    const released = await bed.maintenance(node);
    expect([released.metadata.finalizers, said(released, 'Ready')]).toEqual([undefined, 'False/Released']);
    const gone = await Promise.all([DEPLOYMENT, JOB, ROLES].map(async (path) => bed.api.find(path)));
    expect(gone).toEqual([undefined, undefined, undefined]);
    expect(await bed.api.find(CRD)).toBeDefined();

    await helm.install();
    const second = await startStandIn(bed, `${version}-2`);
    await bed.untilSaid(node, 'Ready', 'True/Drained');
    expect((await bed.maintenance(node)).metadata.uid).toBe(old.metadata.uid);
    await bed.endMaintenance(node);
    expect(await bed.snapshot(node)).toEqual(before);
    await second.stop();
  });

  test('a node that cannot be written fails the uninstallation, is listed, and the operator comes back', async () => {
    const helm = new Helm(bed, version);
    await helm.install({ uninstall: { timeoutSeconds: 4 } });
    const operator = await startStandIn(bed, `${version}-3`);
    const { node } = await drained(`${version}-refused`);
    await bed.maintain(node);
    await bed.untilSaid(node, 'Ready', 'True/Drained');
    const policy = `${bed.prefix}-${version}`;
    await bed.kubectl.apply(...writesRefused(policy, node));
    await bed.eventually('the node cannot be written', async () => {
      const { code } = await bed.kubectl.try(['label', 'node', node, 'x=y', '--dry-run=server']);
      return code !== 0;
    });

    const [{ helm: output, job }] = await Promise.all([helm.uninstall(), stopsWithDeployment(bed, operator)]);
    expect([output.code, job.code]).toEqual([1, 1]);
    expect(job.stderr).toContain(`  node ${node}: `);
    expect(job.stderr).toContain('nobody writes it');
    expect((await bed.api.get<Scaled>(DEPLOYMENT)).spec.replicas).toBe(2);
    expect(await bed.api.find(JOB)).toBeDefined();
    expect(await bed.api.find(ROLES)).toBeUndefined();
    expect((await bed.maintenance(node)).metadata.finalizers).toEqual(['haulout.dev/restore-node']);

    await bed.kubectl.run(['delete', 'validatingadmissionpolicy,validatingadmissionpolicybinding', policy]);
    await bed.eventually('the node can be written', async () => {
      const { code } = await bed.kubectl.try(['label', 'node', node, 'x=y', '--dry-run=server']);
      return code === 0;
    });
    const again = await helm.uninstall();
    expect([again.helm.code, again.job.code]).toEqual([0, 0]);
    expect(await bed.api.find(nodeMaintenancePath(node))).toMatchObject({ spec: { nodeName: node } });
    expect((await bed.api.node(node)).spec?.unschedulable ?? false).toBe(false);
    await bed.kubectl.run(['delete', 'nmaint', node]);
  });
});

/** Nobody writes this node, whoever it is. */
function writesRefused(name: string, node: string) {
  const group = 'admissionregistration.k8s.io/v1';
  return [
    {
      apiVersion: group,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['UPDATE'],
              resources: ['nodes'],
              resourceNames: [node],
            },
          ],
        },
        validations: [{ expression: 'false', message: 'nobody writes it' }],
      },
    },
    {
      apiVersion: group,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}
