/** The operator in one file, as the image has it: it needs nothing of the repository. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { repositoryRoot } from '../../hack/cluster/lib/paths.ts';
import { ownTestBed } from './support/beds.ts';
import { runProgram } from './support/kubectl.ts';

const bed = ownTestBed(import.meta.filename);
/** Outside of the repository: nothing that is forgotten in the bundle can be found in a directory above it. */
const away = mkdtempSync(join(tmpdir(), 'haulout-bundle-'));
const bundle = join(away, 'haulout.mjs');

const haulout = (...args: string[]) => runProgram(process.execPath, [bundle, ...args]);

beforeAll(async () => {
  const script = join(repositoryRoot, 'hack', 'bundle.ts');
  const args = ['--disable-warning=ExperimentalWarning', script, '--outdir', away];
  expect(await runProgram(process.execPath, args)).toMatchObject({ code: 0, stderr: '' });
});
afterAll(() => rmSync(away, { recursive: true, force: true }));

test('it knows its version, and its own words', async () => {
  const source = await runProgram(join(repositoryRoot, 'bin', 'haulout'), ['--version']);
  expect(await haulout('--version')).toEqual(source);
  expect((await haulout('run', '--help')).stdout).toContain('--leader-elect');
});

test('it has nothing of the models of the whole Kubernetes API, which would cost twenty megabytes of memory', () => {
  expect(statSync(bundle).size).toBeLessThan(2_500_000);
});

test('it validates manifests', async () => {
  const good = await haulout('validate', join(repositoryRoot, 'examples', 'node-maintenance.yaml'));
  expect(good).toMatchObject({ code: 0, stdout: '1 NodeMaintenance valid\n' });
});

test('it says what a maintenance would do, drains, and puts the node back', async () => {
  const island = await bed.island('drain');
  await bed.place(island, island.deployment('web', { replicas: 3, stopsIn: '1s' }));
  const before = await bed.snapshot(island.node);
  const planned = await haulout('plan', island.node, `--kubeconfig=${bed.files.operatorKubeconfig}`);
  expect(planned.stdout).toContain(island.namespace);

  const operator = await bed.startOperator({ program: [process.execPath, bundle] });
  await bed.maintain(island.node);
  await bed.untilSaid(island.node, 'Drained', 'True/Drained');
  expect(bed.audit.accepted(island.namespace)).toHaveLength(3);
  const metrics = (await (await operator.http('/metrics'))?.text()) ?? '';
  expect(metrics).toMatch(/haulout_build_info\{version="\d+\.\d+\.\d+"/);
  await bed.endMaintenance(island.node);
  expect(await bed.snapshot(island.node)).toEqual(before);
  expect(await operator.stop()).toEqual({ code: 0, signal: null });
});
