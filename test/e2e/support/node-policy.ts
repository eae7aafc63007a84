/** An API server that lets nobody write certain Nodes. */
import type { TestBed } from './test-bed.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const apiVersion = 'admissionregistration.k8s.io/v1';

/** Returns when the policy is in force; what it returns takes the policy away again. Status updates go on. */
export async function refuseNodeUpdates(
  bed: TestBed,
  nodes: readonly string[],
): Promise<() => Promise<void>> {
  const name = 'no-node-updates';
  const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] };
  await bed.api.create(`${group}/validatingadmissionpolicies`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [{ ...rule, resourceNames: nodes }] },
      validations: [{ expression: 'false', message: 'the node is held' }],
    },
  });
  await bed.api.create(`${group}/validatingadmissionpolicybindings`, {
    apiVersion,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name },
    spec: { policyName: name, validationActions: ['Deny'] },
  });
  await bed.eventually('the policy is in force', async () => {
    const path = `/api/v1/nodes/${nodes[0] ?? ''}?dryRun=All`;
    const patch = { metadata: { annotations: { 'example.com/try': 'x' } } };
    return (await bed.api.request('PATCH', path, patch, 'application/merge-patch+json')).status === 422;
  });
  return async () => {
    await bed.api.remove(`${group}/validatingadmissionpolicybindings/${name}`);
    await bed.api.remove(`${group}/validatingadmissionpolicies/${name}`);
  };
}
