/** kubectl wait, helm upgrade --wait and server-side apply, as pipelines and GitOps tools call them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { toolPath } from '../../hack/cluster/lib/tools.ts';
import { sharedTestBed } from './support/beds.ts';
import { maintenance } from './support/builders.ts';
import { type Output, runProgram } from './support/kubectl.ts';
import { said } from './support/status.ts';

const bed = sharedTestBed(import.meta.filename);
let chart = '';

beforeAll(() => {
  chart = mkdtempSync(join(tmpdir(), 'haulout-helm-'));
  mkdirSync(join(chart, 'templates'));
  writeFileSync(join(chart, 'Chart.yaml'), stringify({ apiVersion: 'v2', name: 'fleet', version: '1.0.0' }));
  const template = maintenance('{{ .Values.node }}', '{{ .Values.node }}');
  const spec = { nodeName: '{{ .Values.node }}', drain: { timeoutSeconds: '{{ .Values.timeoutSeconds }}' } };
  const text = stringify({ ...template, spec }).replaceAll(
    '"{{ .Values.timeoutSeconds }}"',
    '{{ .Values.timeoutSeconds }}',
  );
  writeFileSync(join(chart, 'templates', 'maintenance.yaml'), text);
});
afterAll(() => rmSync(chart, { recursive: true, force: true }));

async function helm(
  args: readonly string[],
  namespace: string,
  version: 'helm' | 'helm3' = 'helm',
): Promise<Output> {
  return runProgram(toolPath(version), [
    ...args,
    `--kubeconfig=${bed.files.kubeconfig}`,
    `--namespace=${namespace}`,
  ]);
}

const upgrade = async (
  node: string,
  namespace: string,
  timeout: string,
  drainSeconds: number,
  version?: 'helm3',
) =>
  helm(
    [
      'upgrade',
      'fleet',
      chart,
      '--install',
      '--wait',
      `--timeout=${timeout}`,
      `--set=node=${node}`,
      `--set=timeoutSeconds=${drainSeconds}`,
    ],
    namespace,
    version,
  );

test.concurrent('helm upgrade --wait returns when the node is drained, helm uninstall --wait when it is back', async () => {
  const island = await bed.island('helm');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web', { replicas: 2, stopsIn: '3s' }));
  const before = await bed.snapshot(node);
  expect(await upgrade(node, namespace, '60s', 600)).toMatchObject({ code: 0 });
  expect(said(await bed.maintenance(node), 'Drained')).toBe('True/Drained');
  expect(await helm(['uninstall', 'fleet', '--wait', '--timeout=60s'], namespace)).toMatchObject({ code: 0 });
  expect(await bed.snapshot(node)).toEqual(before);
});

test.concurrent('helm upgrade --wait fails with a drain that gives up, and names it', async () => {
  const island = await bed.island('helm-fails');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web'), island.budget('web', { minAvailable: 1 }));
  const began = Date.now();
  const { code, stderr } = await upgrade(node, namespace, '120s', 3);
  expect(code).not.toBe(0);
  expect(stderr).toContain(node);
  expect(said(await bed.maintenance(node), 'Stalled')).toBe('True/DrainFailed');
  // At once, and not when --timeout is over.
  expect(Date.now() - began).toBeLessThan(60_000);
});

test.concurrent('Helm 3 does not wait for what it does not know', async () => {
  const island = await bed.island('helm3');
  const { node, namespace } = island;
  await bed.place(island, island.deployment('web'), island.budget('web', { minAvailable: 1 }));
  expect(await upgrade(node, namespace, '60s', 600, 'helm3')).toMatchObject({ code: 0 });
  expect(said(await bed.maintenance(node), 'Drained')).not.toBe('True/Drained');
});

test.concurrent('kubectl wait waits for conditions, for phases and for the end', async () => {
  const island = await bed.island('wait');
  const { node } = island;
  await bed.place(island, island.deployment('web', { replicas: 2, stopsIn: '2s' }));
  const wait = async (what: string): Promise<Output> =>
    bed.kubectl.try(['wait', `--for=${what}`, `nmaint/${node}`, '--timeout=60s']);
  await bed.maintain(node);
  expect(await wait('condition=Ready')).toMatchObject({ code: 0 });
  expect(await wait('condition=Drained')).toMatchObject({ code: 0 });
  expect(await wait('jsonpath={.status.phase}=UnderMaintenance')).toMatchObject({ code: 0 });
  await bed.kubectl.run(['delete', 'nmaint', node, '--wait=false']);
  expect(await wait('delete')).toMatchObject({ code: 0 });
});

test.concurrent('server-side apply again and again takes nothing from the operator', async () => {
  const { node } = await bed.island('apply', { spares: 0 });
  const stdin = JSON.stringify(maintenance(node, node, { reason: 'Firmware 4.2' }));
  const apply = async (): Promise<string> =>
    bed.kubectl.run(['apply', '--server-side', '--field-manager=argocd-controller', '--filename=-'], {
      stdin,
    });
  await apply();
  const { metadata, status } = await bed.untilSaid(node, 'Ready', 'True/Drained');
  await apply();
  const after = await bed.maintenance(node);
  expect(after.metadata.generation).toBe(metadata.generation);
  expect(after.metadata.finalizers).toEqual(metadata.finalizers);
  expect(after.status).toEqual(status);
  expect(await bed.kubectl.try(['diff', '--server-side', '--filename=-'], { stdin })).toMatchObject({
    code: 0,
  });
});
