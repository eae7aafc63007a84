/** The examples in gitops/ and the snippet in docs/gitops.md, under the definitions of Argo CD and Flux themselves. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { group, kind } from '../../src/api/names.ts';
import { ownTestBed } from './support/beds.ts';
import { type Manifest, namespace } from './support/builders.ts';
import { applyDefinitions } from './support/definitions.ts';
import { gitopsCrds, healthScript } from './support/gitops.ts';

const bed = ownTestBed(import.meta.filename);
const GITOPS = join(repositoryRoot, 'gitops');
const guide = readFileSync(join(repositoryRoot, 'docs', 'gitops.md'), 'utf8');

/** All of them, so that one that is added is tried as well. */
const examples = readdirSync(GITOPS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml') && !file.includes('resource_customizations'))
  .toSorted();

function example(file: string): Manifest {
  return as<Manifest>(parse(readFileSync(join(GITOPS, file), 'utf8')));
}

/** What the API server makes of it, which must be all that was written. */
async function taken(manifest: Manifest): Promise<void> {
  const args = ['apply', '--server-side', '--validate=strict', '--filename=-', '--output=json'];
  const live: unknown = JSON.parse(await bed.kubectl.run(args, { stdin: JSON.stringify(manifest) }));
  expect(live).toMatchObject(manifest);
}

beforeAll(async () => {
  await applyDefinitions(bed, gitopsCrds());
  await bed.kubectl.apply(namespace('argocd'), namespace('flux-system'));
}, 60_000);

test('the examples are those that the guide names', () => {
  expect(examples).toEqual(['argo-cd/application.yaml', 'argo-cd/argocd-cm.yaml', 'flux/kustomization.yaml']);
  for (const file of examples) expect(guide).toContain(`gitops/${file}`);
});

test.each(['argo-cd/application.yaml', 'flux/kustomization.yaml'])('%s is taken as it is', async (file) => {
  await taken(example(file));
});

test('a misspelt field in them would be refused', async () => {
  const application = example('argo-cd/application.yaml');
  const misspelt = { ...application, spec: { ...as<object>(application.spec), syncpolicy: {} } };
  await expect(taken(misspelt)).rejects.toThrow('.spec.syncpolicy: field not declared in schema');
});

test('the project of the guide is taken as it is', async () => {
  const [, snippet = ''] = /```yaml\n(spec:\n  clusterResourceWhitelist:.*?)```/s.exec(guide) ?? [];
  const { spec } = as<Pick<Manifest, 'spec'>>(parse(snippet));
  const metadata = { name: 'platform', namespace: 'argocd' };
  await taken({ apiVersion: 'argoproj.io/v1alpha1', kind: 'AppProject', metadata, spec });
});

test('the health check gets into a ConfigMap that has other settings, by the command of the guide', async () => {
  const data = { url: 'https://argocd.example.com' };
  const metadata = { name: 'argocd-cm', namespace: 'argocd' };
  await bed.kubectl.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data });
  const [, command = ''] = /^kubectl (patch configmap .*)$/m.exec(guide) ?? [];
  await bed.kubectl.run(command.replace('gitops/', `${GITOPS}/`).split(' '));
  const live = await bed.api.get<{ data: unknown }>('/api/v1/namespaces/argocd/configmaps/argocd-cm');
  expect(live).toMatchObject(example('argo-cd/argocd-cm.yaml'));
  expect(live.data).toEqual({
    ...data,
    [`resource.customizations.health.${group}_${kind}`]: readFileSync(healthScript, 'utf8'),
  });
});
