/** Objects by the thousand, as large as those of real clusters. */
import { FAKE_NODE_TOLERATION, MADE_FOR } from '../../../hack/cluster/lib/made-for.ts';
import type { Manifest } from '../../e2e/support/builders.ts';

/** A kubelet reports so many of its images. */
const IMAGES = 50;
const DIGEST = '0123456789abcdef'.repeat(4);

export const numbered = (prefix: string, count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(from + index).padStart(5, '0')}`);

/** A node that is Ready, of some 13 kB: most of it are images and labels, as a cloud's node has them. */
export function fleetNode(
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Manifest & { readonly spec: object; readonly status: object } {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string, status: string, reason: string): object => ({
    type,
    status,
    reason,
    message: `kubelet says ${reason}`,
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  });
  const resources = {
    cpu: '32',
    memory: '256Gi',
    pods: '250',
    'ephemeral-storage': '200Gi',
    'hugepages-2Mi': '0',
  };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { ...commonLabels(name), ...labels },
      annotations: {
        'csi.volume.kubernetes.io/nodeid': `{"disk.example.com":"i-${name}"}`,
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
        'alpha.kubernetes.io/provided-node-ip': '10.0.0.1',
      },
    },
    spec: { providerID: `example:///zone-a/i-${name}` },
    status: {
      capacity: resources,
      allocatable: resources,
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: name },
      ],
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID'),
        condition('Ready', 'True', 'KubeletReady'),
      ],
      nodeInfo: {
        architecture: 'amd64',
        operatingSystem: 'linux',
        bootID: name,
        machineID: name,
        systemUUID: name,
        osImage: 'Example Linux 12',
        kernelVersion: '6.1.0-example-amd64',
        containerRuntimeVersion: 'containerd://2.1.4',
        kubeletVersion: 'v1.36.3',
        kubeProxyVersion: '',
      },
      images: Array.from({ length: IMAGES }, (_, index) => {
        const image = `registry.example.com/platform/component-${index}`;
        return { names: [`${image}@sha256:${DIGEST}`, `${image}:v1.2.${index}`], sizeBytes: 40_000_000 };
      }),
    },
  };
}

function commonLabels(name: string): Record<string, string> {
  return {
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/os': 'linux',
    'beta.kubernetes.io/arch': 'amd64',
    'node.kubernetes.io/instance-type': 'm6i.8xlarge',
    'beta.kubernetes.io/instance-type': 'm6i.8xlarge',
    'topology.kubernetes.io/region': 'example-1',
    'topology.kubernetes.io/zone': 'example-1a',
    'failure-domain.beta.kubernetes.io/region': 'example-1',
    'failure-domain.beta.kubernetes.io/zone': 'example-1a',
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/capacity-type': 'on-demand',
    [MADE_FOR]: 'test',
  };
}

/** On its node from the beginning, and nothing would create it again: it stays until somebody decides. */
export function boundPod(namespace: string, name: string, nodeName: string, app: string): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels: { app, 'app.kubernetes.io/managed-by': 'test' } },
    spec: {
      nodeName,
      tolerations: [FAKE_NODE_TOLERATION],
      containers: [{ name: 'main', image: 'example.com/none' }],
    },
  };
}

/** Selects the pods of `app`, and allows all of them to leave. With labels that all of a release share, as Helm has it. */
export function fleetBudget(namespace: string, name: string, app: string): Manifest {
  const shared = { 'app.kubernetes.io/managed-by': 'test' };
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels: { app, ...shared, 'helm.sh/chart': `${app}-1.2.3` } },
    spec: { minAvailable: 0, selector: { matchLabels: { ...shared, app } } },
  };
}
