/** As many options of the chart at once as go together: the API server takes what is rendered as it is, and nothing stays of it. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { as } from '../../hack/cluster/lib/untyped.ts';
import { monitoringCrds } from '../../hack/monitoring-schemas.ts';
import { ownTestBed } from './support/beds.ts';
import type { Manifest } from './support/builders.ts';
import { applyDefinitions } from './support/definitions.ts';
import { Helm } from './support/helm.ts';
import { enforceRestrictedPods, OPERATOR_NAMESPACE } from './support/install.ts';

const bed = ownTestBed(import.meta.filename, { nodes: 3 });

const monitor = { enabled: true, interval: '15s', labels: { release: 'prometheus', team: 'metrics' } };
const monitoring = {
  secureMetrics: {
    enabled: true,
    certSecret: 'haulout-tls',
    tlsConfig: { insecureSkipVerify: true, serverName: 'haulout' },
  },
  serviceMonitor: monitor,
  prometheusRule: { enabled: true, labels: { role: 'alerts' }, runbookBaseUrl: 'https://example.com' },
  grafanaDashboard: { enabled: true, labels: { grafana: 'yes' }, annotations: { folder: 'nodes' } },
};

const ALL = {
  commonLabels: { team: 'nodes', 'app.kubernetes.io/part-of': 'platform' },
  podLabels: { team: 'storage', tier: 'control' },
  podAnnotations: { 'example.com/pod': 'yes' },
  deploymentAnnotations: { 'example.com/deployment': 'yes' },
  serviceAccount: { annotations: { 'example.com/account': 'yes' } },
  image: { tag: 'other', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  maxUnavailableNodes: 2,
  allowPodDeletion: false,
  allowDeploymentRestart: false,
  logLevel: 'debug',
  extraArgs: ['--eviction-qps=20'],
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=128' }],
  extraEnvFrom: [{ configMapRef: { name: 'haulout-extra' } }],
  extraVolumes: [{ name: 'extra', configMap: { name: 'haulout-extra' } }],
  extraVolumeMounts: [{ name: 'extra', mountPath: '/etc/extra', readOnly: true }],
  rbac: { aggregateToEdit: true },
  authorization: { enabled: true, verb: 'maintain' },
  uninstall: { timeoutSeconds: 10 },
  resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '1500m', memory: '256Mi' } },
  priorityClassName: 'system-node-critical',
  podDisruptionBudget: { maxUnavailable: '50%' },
  networkPolicy: {
    enabled: true,
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    apiServerPorts: [8443],
    extraEgress: [{ ports: [{ port: 3128, protocol: 'TCP' }] }],
  },
  nodeSelector: { 'kubernetes.io/os': 'linux' },
  tolerations: [{ operator: 'Exists' }],
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { tier: 'control' } } },
      ],
    },
  },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { tier: 'control' } },
    },
  ],
  terminationGracePeriodSeconds: 20,
  monitoring,
  extraObjects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: '{{ .Release.Name }}-extra' },
      data: { EXTRA: '{{ .Chart.Name }}' },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'haulout-tls' },
      data: { token: 'aW52ZW50ZWQ=' },
    },
  ],
};

/** A PodMonitor takes the place of the ServiceMonitor, and needs to be told its token. Nothing is kept. */
const ALL_WITH_POD_MONITOR = {
  ...ALL,
  crds: { keep: false },
  monitoring: {
    ...monitoring,
    serviceMonitor: { enabled: false },
    podMonitor: monitor,
    secureMetrics: {
      ...monitoring.secureMetrics,
      authorization: { credentials: { name: 'haulout-tls', key: 'token' } },
    },
  },
};

interface Live extends Manifest {
  readonly status?: unknown;
}

/** What the release consists of, as helm remembers it. */
async function rendered(helm: Helm): Promise<readonly Manifest[]> {
  const documents = parseAllDocuments(await helm.run(['get', 'manifest', 'haulout']));
  return documents.map((document) => as<Manifest | null>(document.toJS())).filter((each) => each !== null);
}

async function live(manifests: readonly Manifest[]): Promise<ReadonlyMap<string, Live>> {
  const stdin = manifests.map((each) => JSON.stringify(each)).join('\n---\n');
  const args = ['get', `--namespace=${OPERATOR_NAMESPACE}`, '--filename=-', '--ignore-not-found'];
  const output = await bed.kubectl.run([...args, '--output=json'], { stdin });
  const { items } = output === '' ? { items: [] } : as<{ items: Live[] }>(JSON.parse(output));
  return new Map(items.map((item) => [nameOf(item), item]));
}

function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

/** Every field that was rendered is there with its value, and none is refused by who looks for misspelt ones. */
async function expectTaken(helm: Helm): Promise<ReadonlyMap<string, Live>> {
  const manifests = await rendered(helm);
  const objects = await live(manifests);
  for (const manifest of manifests) expect(objects.get(nameOf(manifest))).toMatchObject(manifest);
  const hooks = await helm.run(['get', 'hooks', 'haulout']);
  const stdin = `${hooks}\n---\n${manifests.map((each) => JSON.stringify(each)).join('\n---\n')}`;
  const strict = ['--server-side', '--force-conflicts', '--validate=strict', '--dry-run=server'];
  await bed.kubectl.run(['apply', ...strict, '--filename=-'], { stdin });
  return objects;
}

/** Without what every write changes, and what others write. */
function stable({ metadata, status: _, ...rest }: Live): object {
  const { resourceVersion: _version, generation: _generation, managedFields: _fields, ...others } = metadata;
  const annotations = Object.entries(as<Record<string, string>>(metadata['annotations'] ?? {})).filter(
    ([key]) => key !== 'deployment.kubernetes.io/revision',
  );
  return { ...rest, metadata: { ...others, annotations: Object.fromEntries(annotations) } };
}

beforeAll(async () => {
  await enforceRestrictedPods(bed.kubectl);
  await applyDefinitions(bed, [...monitoringCrds().values()]);
}, 60_000);

describe.each(['helm', 'helm3'] as const)('%s', (version) => {
  test('all options at once are taken as they are, and none of them leaves anything behind', async () => {
    const helm = new Helm(bed, version);
    await helm.install();
    const before = await expectTaken(helm);

    await helm.install(ALL);
    const all = await expectTaken(helm);
    expect([...new Set([...all.values()].map(({ kind }) => kind))]).toEqual(
      expect.arrayContaining(OPTIONAL_KINDS),
    );
    await expectPodsFound();

    await helm.install();
    const after = await expectTaken(helm);
    expect([...(await live([...all.values()])).keys()].toSorted()).toEqual([...before.keys()].toSorted());
    expect([...after.values()].map(stable)).toEqual([...before.values()].map(stable));

    await helm.install(ALL_WITH_POD_MONITOR);
    const withPodMonitor = await expectTaken(helm);
    expect(withPodMonitor.has('PodMonitor haulout')).toBe(true);
    const { helm: output, job } = await helm.uninstall();
    expect([output.code, job.code, job.stderr]).toEqual([0, 0, '']);
    expect([...(await live([...withPodMonitor.values()])).keys()]).toEqual([]);
  });
});

const OPTIONAL_KINDS = [
  'ConfigMap',
  'NetworkPolicy',
  'PrometheusRule',
  'Secret',
  'Service',
  'ServiceMonitor',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];

/** By the budget and by the Service that the ServiceMonitor names. */
async function expectPodsFound(): Promise<void> {
  await bed.budgetSettled(OPERATOR_NAMESPACE, 'haulout');
  const pods = await bed.api.pods(OPERATOR_NAMESPACE);
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  expect(staying.map(({ metadata }) => metadata.labels)).toEqual(
    Array(2).fill(expect.objectContaining({ ...ALL.commonLabels, ...ALL.podLabels })),
  );
  const path = `/apis/discovery.k8s.io/v1/namespaces/${OPERATOR_NAMESPACE}/endpointslices`;
  await bed.eventually('the Service leads to the secure port of both pods', async () => {
    const slices = await bed.api.list<EndpointSlice>(path);
    const ports = slices.flatMap(({ ports: [port] = [], endpoints = [] }) =>
      endpoints.map(() => `${port?.name} ${port?.port}`),
    );
    return ports.length === 2 && ports.every((port) => port === 'metrics 8443');
  });
}

interface EndpointSlice {
  readonly ports?: readonly { readonly name: string; readonly port: number }[];
  readonly endpoints?: readonly unknown[];
}
