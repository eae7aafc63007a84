/** The kubelet of one node: its configuration, as far as it differs from what a cluster has. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { createCertificate } from '../../src/runtime/certificates.ts';
import { writeKubeconfig } from '../cluster/lib/kubeconfig.ts';
import type { ProcessSpec } from '../cluster/lib/processes.ts';
import type { NodeCgroup } from './cgroups.ts';
import { type NodeNetwork, SERVICE_ADDRESS } from './network.ts';

export interface KubeletSettings {
  readonly node: string;
  readonly binary: string;
  readonly directory: string;
  /** With the cluster's certificate authority. */
  readonly pki: string;
  readonly runtimeSocket: string;
  readonly cgroup: NodeCgroup;
  readonly network: NodeNetwork;
  readonly labels: Readonly<Record<string, string>>;
}

export const podLogsDirectory = (directory: string): string => join(directory, 'pod-logs');

export function writeKubeletFiles(settings: KubeletSettings): void {
  const { directory, node, pki } = settings;
  mkdirSync(join(directory, 'manifests'), { recursive: true });
  writeFileSync(join(directory, 'kubelet.yaml'), stringify(configuration(settings)));
  const certificate = readFileSync(join(pki, 'ca.crt'), 'utf8');
  const authority = {
    commonName: 'haulout-test-ca',
    certificate,
    key: readFileSync(join(pki, 'ca.key'), 'utf8'),
  };
  writeKubeconfig(join(directory, 'kubeconfig'), {
    server: `https://${SERVICE_ADDRESS}:443`,
    authority: certificate,
    user: `system:node:${node}`,
    certificate: createCertificate(authority, {
      commonName: `system:node:${node}`,
      organizations: ['system:nodes'],
    }),
  });
}

export function kubeletProcess(settings: KubeletSettings): ProcessSpec {
  const { directory, node, binary, network, labels } = settings;
  const args = [
    `--config=${join(directory, 'kubelet.yaml')}`,
    `--kubeconfig=${join(directory, 'kubeconfig')}`,
    `--root-dir=${join(directory, 'kubelet')}`,
    `--cert-dir=${join(directory, 'certificates')}`,
    `--hostname-override=${node}`,
    `--node-ip=${network.address}`,
    `--node-labels=${Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',')}`,
    '--v=2',
  ];
  return { name: `${node}-kubelet`, ...network.inside(binary, args) };
}

function configuration({ directory, runtimeSocket, cgroup, network }: KubeletSettings): unknown {
  const endpoint = `unix://${runtimeSocket}`;
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: network.address,
    readOnlyPort: 0,
    // Nobody but the node itself can reach it.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: endpoint,
    imageServiceEndpoint: endpoint,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: cgroup.root,
    failCgroupV1: false,
    failSwapOn: false,
    // The machine is shared: nothing is reserved, and no pod has to leave because of what others do.
    enforceNodeAllocatable: [],
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    localStorageCapacityIsolation: false,
    oomScoreAdj: 0,
    staticPodPath: join(directory, 'manifests'),
    podLogsDir: podLogsDirectory(directory),
  };
}
