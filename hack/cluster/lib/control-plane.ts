/** The command lines of the control plane: what is set, and why where it is not plain. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import {
  type Authority,
  createAuthority,
  createCertificate,
  createSigningKeys,
} from '../../../src/runtime/certificates.ts';
import type { HeartbeatSettings } from './heartbeats.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { MADE_FOR, type Purpose } from './made-for.ts';
import { configDirectory } from './paths.ts';
import type { ProcessSpec } from './processes.ts';
import type { CLUSTER_TOOLS } from './tools.ts';
import { kubeletsPart, type VolumeKubeletsSettings } from './volumes/options.ts';
import { kwokConfigOf, type VolumesSetup, volumeProcesses, writeVolumeFiles } from './volumes/setup.ts';

export type Binaries = Readonly<Record<(typeof CLUSTER_TOOLS)[number], string>>;

export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
}

export interface ControlPlaneSettings {
  /** The cluster's directory; holds all that is written. */
  readonly dir: string;
  readonly ports: Ports;
  readonly binaries: Binaries;
  /** How long after the last heartbeat a node counts as unreachable. */
  readonly nodeMonitorGraceSeconds: number;
  /** Added to the API server's own. */
  readonly apiServerFlags: readonly string[];
  /** Where volumes are attached and detached. */
  readonly volumes?: VolumesSetup;
  /** Where real nodes are beside the fake ones: only those with this value of the label are played. */
  readonly madeFor?: Purpose;
  /** Of the fake nodes, where they are not to be as usual. */
  readonly heartbeats?: HeartbeatSettings;
}

const SERVICE_CIDR = '10.96.0.0/16';
/** The administrator's kubeconfig is the one for people and tests, so it lies on top. */
const USERS = [
  { file: 'kubeconfig', user: 'admin', commonName: 'haulout-test:admin', organizations: ['system:masters'] },
  {
    file: 'kubeconfigs/controller-manager',
    user: 'controller-manager',
    commonName: 'system:kube-controller-manager',
  },
  { file: 'kubeconfigs/scheduler', user: 'scheduler', commonName: 'system:kube-scheduler' },
  {
    file: 'kubeconfigs/kwok',
    user: 'kwok',
    commonName: 'haulout-test:kwok',
    organizations: ['system:masters'],
  },
  {
    file: 'kubeconfigs/kubelets',
    user: 'kubelets',
    commonName: 'haulout-test:kubelets',
    organizations: ['system:masters'],
  },
  {
    file: 'kubeconfigs/csi-attacher',
    user: 'csi-attacher',
    commonName: 'haulout-test:csi-attacher',
    organizations: ['system:masters'],
  },
] as const;

export const serverUrl = (ports: Ports): string => `https://127.0.0.1:${ports.apiServer}`;

/** Keys, certificates, kubeconfigs and configuration files. */
export function writeFiles(settings: ControlPlaneSettings): void {
  const pki = join(settings.dir, 'pki');
  mkdirSync(pki, { recursive: true, mode: 0o700 });
  const write = (name: string, text: string): void => writeFileSync(join(pki, name), text, { mode: 0o600 });
  const authority = createAuthority('haulout-test-ca');
  const server = createCertificate(authority, {
    commonName: 'kube-apiserver',
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    ipAddresses: ['127.0.0.1', '10.96.0.1'],
  });
  const signing = createSigningKeys();
  write('ca.crt', authority.certificate);
  write('ca.key', authority.key);
  write('server.crt', server.certificate);
  write('server.key', server.key);
  write('service-accounts.key', signing.privateKey);
  write('service-accounts.pub', signing.publicKey);
  writeKubeconfigs(settings, authority);
  writeFileSync(join(settings.dir, 'scheduler.yaml'), stringify(schedulerConfiguration(settings.dir)));
  if (settings.volumes) writeVolumeFiles(settings.dir, settings.volumes);
}

function writeKubeconfigs(settings: ControlPlaneSettings, authority: Authority): void {
  for (const { file, user, ...subject } of USERS) {
    writeKubeconfig(join(settings.dir, file), {
      server: serverUrl(settings.ports),
      authority: authority.certificate,
      user,
      certificate: createCertificate(authority, subject),
    });
  }
}

export function kubeconfigOf(dir: string, user: (typeof USERS)[number]['user']): string {
  return user === 'admin' ? join(dir, 'kubeconfig') : join(dir, 'kubeconfigs', user);
}

function schedulerConfiguration(dir: string): unknown {
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig: kubeconfigOf(dir, 'scheduler'), qps: 300, burst: 600 },
    leaderElection: { leaderElect: false },
  };
}

export function etcd({ dir, ports, binaries }: ControlPlaneSettings): ProcessSpec {
  const client = `http://127.0.0.1:${ports.etcd}`;
  const peer = `http://127.0.0.1:${ports.etcdPeer}`;
  return {
    name: 'etcd',
    command: binaries.etcd,
    args: [
      '--name=default',
      `--data-dir=${join(dir, 'etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      '--log-level=warn',
      '--unsafe-no-fsync', // nothing here has to survive a power cut
    ],
  };
}

export function apiServer({ dir, ports, binaries, apiServerFlags }: ControlPlaneSettings): ProcessSpec {
  const pki = (name: string): string => join(dir, 'pki', name);
  return {
    name: 'kube-apiserver',
    command: binaries['kube-apiserver'],
    args: [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${ports.apiServer}`,
      // Endpoints must not hold a loopback address, so the `kubernetes` service stays without any.
      '--advertise-address=127.0.0.1',
      '--endpoint-reconciler-type=none',
      `--service-cluster-ip-range=${SERVICE_CIDR}`,
      `--tls-cert-file=${pki('server.crt')}`,
      `--tls-private-key-file=${pki('server.key')}`,
      `--client-ca-file=${pki('ca.crt')}`,
      '--authorization-mode=RBAC,Node',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${pki('service-accounts.pub')}`,
      `--service-account-signing-key-file=${pki('service-accounts.key')}`,
      '--allow-privileged=true',
      `--audit-policy-file=${join(configDirectory, 'audit-policy.yaml')}`,
      `--audit-log-path=${join(dir, 'audit.log')}`,
      '--audit-log-mode=blocking', // a request that was answered is in the file
      '--audit-log-maxsize=100000', // MB: no rotation; zero would mean a default
      '--profiling=false',
      ...apiServerFlags,
    ],
  };
}

export function controllerManager({
  dir,
  binaries,
  nodeMonitorGraceSeconds,
}: ControlPlaneSettings): ProcessSpec {
  const kubeconfig = kubeconfigOf(dir, 'controller-manager');
  return {
    name: 'kube-controller-manager',
    command: binaries['kube-controller-manager'],
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--root-ca-file=${join(dir, 'pki', 'ca.crt')}`,
      `--service-account-private-key-file=${join(dir, 'pki', 'service-accounts.key')}`,
      '--use-service-account-credentials=true',
      '--leader-elect=false',
      '--secure-port=0', // one port less to find
      '--kube-api-qps=300',
      '--kube-api-burst=600',
      '--node-monitor-period=1s',
      `--node-monitor-grace-period=${nodeMonitorGraceSeconds}s`,
    ],
  };
}

export function scheduler({ dir, binaries }: ControlPlaneSettings): ProcessSpec {
  return {
    name: 'kube-scheduler',
    command: binaries['kube-scheduler'],
    args: [`--config=${join(dir, 'scheduler.yaml')}`, '--secure-port=0'],
  };
}

export interface FakeNodesSettings {
  readonly kwok: string;
  readonly kwokKubeconfig: string;
  readonly kubeletsKubeconfig: string;
  /** Where nodes of others are beside them: only those with this value of the label are played. */
  readonly madeFor?: Purpose;
  readonly heartbeats?: HeartbeatSettings;
  /** Instead of the one in config/. */
  readonly kwokConfig?: string;
  readonly volumes?: VolumeKubeletsSettings;
}

/** The two processes that play the nodes. */
export function fakeNodes(settings: FakeNodesSettings): ProcessSpec[] {
  const { madeFor, heartbeats, volumes } = settings;
  const managed =
    madeFor === undefined
      ? '--manage-all-nodes'
      : `--manage-nodes-with-label-selector=${MADE_FOR}=${madeFor}`;
  return [
    {
      name: 'kwok',
      command: settings.kwok,
      args: [
        `--kubeconfig=${settings.kwokKubeconfig}`,
        `--config=${settings.kwokConfig ?? join(configDirectory, 'kwok.yaml')}`,
        managed,
        '--node-lease-duration-seconds=0', // heartbeats are the other process's
        '--node-ip=127.0.0.1',
        '--cidr=10.244.0.1/16',
        '--v=WARN',
      ],
    },
    {
      name: 'kubelets',
      command: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        join(configDirectory, '..', 'kubelets.ts'),
        `--kubeconfig=${settings.kubeletsKubeconfig}`,
        ...(madeFor === undefined ? [] : [`--made-for=${madeFor}`]),
        ...(heartbeats === undefined ? [] : [`--heartbeats=${JSON.stringify(heartbeats)}`]),
        ...(volumes === undefined ? [] : [`--volumes=${JSON.stringify(volumes)}`]),
      ],
    },
  ];
}

/** All that goes on beside etcd and the API server. */
export function followers(settings: ControlPlaneSettings): ProcessSpec[] {
  const { dir, binaries, volumes, madeFor, heartbeats } = settings;
  const players: FakeNodesSettings = {
    kwok: binaries.kwok,
    ...(madeFor === undefined ? {} : { madeFor }),
    ...(heartbeats === undefined ? {} : { heartbeats }),
    kwokKubeconfig: kubeconfigOf(dir, 'kwok'),
    kubeletsKubeconfig: kubeconfigOf(dir, 'kubelets'),
    ...(volumes ? { kwokConfig: kwokConfigOf(dir), volumes: kubeletsPart(volumes) } : {}),
  };
  return [
    controllerManager(settings),
    scheduler(settings),
    ...fakeNodes(players),
    ...(volumes ? volumeProcesses(dir, volumes, kubeconfigOf(dir, 'csi-attacher')) : []),
  ];
}
