import { describe, expect, test } from '@jest/globals';
import { excessOf, type GrantedRule, ownRights } from '../../../src/kube/own-rights.ts';
import { ScriptedClient } from '../../fixtures/scripted-client.ts';

const rule = (
  verbs: string[],
  group: string,
  resources: string[],
  resourceNames?: string[],
): GrantedRule => ({
  verbs,
  apiGroups: [group],
  resources,
  ...(resourceNames === undefined ? {} : { resourceNames }),
});

describe('what is more than the operator needs', () => {
  test.each<[string, GrantedRule[], string[]]>([
    ['nothing', [], []],
    [
      'what it uses',
      [rule(['get', 'list', 'watch', 'delete'], '', ['pods']), rule(['patch'], '', ['nodes'])],
      [],
    ],
    ['what every account has', [rule(['create'], 'authorization.k8s.io', ['selfsubjectaccessreviews'])], []],
    ['everything', [rule(['*'], '*', ['*'])], ['do everything (cluster-admin)']],
    ['one secret by its name', [rule(['get'], '', ['secrets'], ['mine'])], []],
    ['all secrets', [rule(['get', 'list'], '', ['secrets'])], ['get/list secrets']],
    [
      'everything is readable',
      [rule(['get'], '*', ['*'])],
      [
        'get secrets',
        'get pods/exec',
        'get pods/attach',
        'get pods/portforward',
        'get pods/proxy',
        'get nodes/proxy',
        'get services/proxy',
      ],
    ],
    [
      'every verb of one resource',
      [rule(['*'], 'apps', ['daemonsets'])],
      ['create/update/patch/delete/deletecollection daemonsets'],
    ],
    ['all pods at once', [rule(['deletecollection'], '', ['pods'])], ['deletecollection pods']],
    ['budgets', [rule(['patch'], 'policy', ['poddisruptionbudgets'])], ['patch poddisruptionbudgets']],
    [
      'what other data hangs on',
      [
        rule(['delete'], '', ['namespaces', 'persistentvolumeclaims', 'persistentvolumes']),
        rule(['delete'], 'apiextensions.k8s.io', ['customresourcedefinitions']),
      ],
      [
        'delete namespaces',
        'delete persistentvolumeclaims',
        'delete persistentvolumes',
        'delete customresourcedefinitions',
      ],
    ],
    [
      'what other requests pass through',
      [rule(['create'], 'apiregistration.k8s.io', ['apiservices'])],
      ['create apiservices'],
    ],
    ['a subresource of everything', [rule(['create'], '', ['*/exec'])], ['create pods/exec']],
    [
      'all subresources of a pod',
      [rule(['create'], '', ['pods/*'])],
      ['create pods/exec', 'create pods/attach', 'create pods/portforward', 'create pods/proxy'],
    ],
    ['the same resource of another group', [rule(['get'], 'example.com', ['secrets'])], []],
    [
      'roles that may grow',
      [rule(['bind', 'escalate'], 'rbac.authorization.k8s.io', ['clusterroles'])],
      ['escalate/bind clusterroles'],
    ],
  ])('%s', (_, rules, excess) => expect(excessOf(rules)).toEqual(excess));
});

describe('the API server is asked', () => {
  const { signal } = new AbortController();
  const ask = async (status: object) => {
    const client = new ScriptedClient(() => ({ kind: 'ok', object: { status } }));
    const rights = await ownRights(client, 'ops', signal);
    expect(client.requests[0]).toMatchObject({
      path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      body: { spec: { namespace: 'ops' } },
    });
    return rights;
  };

  test('and answers', async () => {
    expect(await ask({ resourceRules: [rule(['get'], '', ['pods'])] })).toEqual({
      kind: 'known',
      excess: [],
    });
  });
  test('and does not know all rules', async () => {
    expect(await ask({ resourceRules: [], incomplete: true, evaluationError: 'webhook' })).toEqual({
      kind: 'unknown',
      why: 'webhook',
    });
  });
  test('what it knows counts all the same', async () => {
    const resourceRules = [rule(['*'], '*', ['*'])];
    expect(await ask({ resourceRules, incomplete: true })).toMatchObject({ kind: 'known' });
  });
  test('and refuses to say', async () => {
    const client = new ScriptedClient(() => ({ kind: 'forbidden', message: 'no' }));
    expect(await ownRights(client, 'ops', signal)).toEqual({ kind: 'unknown', why: 'no' });
  });
});
