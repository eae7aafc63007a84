/**
 * Programs built from the pinned Go modules below hack/cluster/tools, once, into .cache/bin of the repository. Each
 * module's directory there is named by a hash of its go.mod, go.sum and build flags: a changed version builds anew.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withLock } from './lock.ts';
import { repositoryRoot } from './paths.ts';
import { as } from './untyped.ts';

interface Tool {
  readonly module: string;
  readonly package: string;
  /** Variables to set to versions of required modules: what the program says it is. */
  readonly versions?: Readonly<Record<string, string>>;
  /** Go's build tags: leave out what is not needed here. */
  readonly tags?: string;
  /** The program is ours and lies in the module itself: another source builds anew, too. */
  readonly isOwn?: boolean;
}

const kubernetes = (command: string): Tool => ({
  module: 'kubernetes',
  package: `k8s.io/kubernetes/cmd/${command}`,
  versions: {
    'k8s.io/component-base/version.gitVersion': 'k8s.io/kubernetes',
    'k8s.io/client-go/pkg/version.gitVersion': 'k8s.io/kubernetes', // the user agent
  },
});

// The real programs, without the clients of two dozen clouds: tests name what is to be scraped.
const prometheus = (command: string): Tool => ({
  module: 'prometheus',
  package: `github.com/prometheus/prometheus/cmd/${command}`,
  tags: 'remove_all_sd',
});

const TOOLS = {
  etcd: { module: 'kubernetes', package: 'go.etcd.io/etcd/server/v3' },
  'kube-apiserver': kubernetes('kube-apiserver'),
  'kube-controller-manager': kubernetes('kube-controller-manager'),
  'kube-scheduler': kubernetes('kube-scheduler'),
  kubectl: kubernetes('kubectl'),
  kubelet: kubernetes('kubelet'),
  kwok: {
    module: 'kwok',
    package: 'sigs.k8s.io/kwok/cmd/kwok',
    versions: { 'sigs.k8s.io/kwok/pkg/consts.Version': 'sigs.k8s.io/kwok' },
  },
  helm: {
    module: 'helm',
    package: 'helm.sh/helm/v4/cmd/helm',
    versions: { 'helm.sh/helm/v4/internal/version.version': 'helm.sh/helm/v4' },
  },
  helm3: {
    module: 'helm3',
    package: 'helm.sh/helm/v3/cmd/helm',
    versions: { 'helm.sh/helm/v3/internal/version.version': 'helm.sh/helm/v3' },
  },
  'helm-unittest': { module: 'chart', package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest' },
  kubeconform: {
    module: 'chart',
    package: 'github.com/yannh/kubeconform/cmd/kubeconform',
    versions: { 'main.version': 'github.com/yannh/kubeconform' },
  },
  kind: { module: 'kind', package: 'sigs.k8s.io/kind' },
  'csi-attacher': {
    module: 'csi-attacher',
    package: 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
    versions: { 'main.version': 'github.com/kubernetes-csi/external-attacher/v4' },
  },
  prometheus: prometheus('prometheus'),
  promtool: prometheus('promtool'),
  volsim: { module: 'volsim', package: '.', isOwn: true },
  health: { module: 'health', package: '.', isOwn: true },
  actionlint: { module: 'actionlint', package: 'github.com/rhysd/actionlint/cmd/actionlint' },
  pause: { module: 'pause', package: '.', isOwn: true },
} as const satisfies Record<string, Tool>;

export type ToolName = keyof typeof TOOLS;

/** What a control plane without containers consists of, and what speaks to it. */
export const CLUSTER_TOOLS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'kwok',
  'helm',
] as const satisfies readonly ToolName[];
/** What a cluster has besides where volumes are attached and detached in it. */
export const VOLUME_TOOLS = ['csi-attacher', 'volsim'] as const satisfies readonly ToolName[];
/** What GitOps tools make of objects. */
export const GITOPS_TOOLS = ['health'] as const satisfies readonly ToolName[];
/** What checks the chart. */
export const CHART_TOOLS = [
  'helm',
  'helm3',
  'helm-unittest',
  'kubeconform',
] as const satisfies readonly ToolName[];

/** What tries the alerts and the queries. */
export const MONITORING_TOOLS = ['prometheus', 'promtool'] as const satisfies readonly ToolName[];

const BUILD_ENV = { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' };

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(TOOLS, name);
}

/** Where the tool is, or will be once built. */
export function toolPath(name: ToolName): string {
  const tool: Tool = TOOLS[name];
  const directory = moduleDirectory(tool.module);
  const hash = createHash('sha256');
  const sources = tool.isOwn === true ? readdirSync(directory).filter((file) => file.endsWith('.go')) : [];
  for (const file of ['go.mod', 'go.sum', ...sources.toSorted()]) {
    if (file.endsWith('.go')) hash.update(file);
    hash.update(readFileSync(join(directory, file)));
  }
  hash.update(JSON.stringify([BUILD_ENV, buildFlags(tool)]));
  return join(cacheDirectory(), `${tool.module}-${hash.digest('hex').slice(0, 12)}`, name);
}

/** Builds what is not there yet, one after the other (each uses all cores), and gives the path of each. */
export async function ensureTools<N extends ToolName>(
  names: readonly N[],
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<Record<N, string>> {
  const paths = as<Record<N, string>>(Object.fromEntries(names.map((name) => [name, toolPath(name)])));
  const isMissing = (name: N): boolean => !existsSync(paths[name]);
  if (!names.some(isMissing)) return paths;
  requireGo();
  await withLock(
    join(cacheDirectory(), 'build.lock'),
    () => log('waiting for another build of the cluster tools'),
    async () => {
      const missing = names.filter(isMissing);
      for (const [index, name] of missing.entries()) {
        const step = `(${index + 1}/${missing.length})`;
        log(`building ${name} ${step} ...`);
        const started = performance.now();
        await build(TOOLS[name], paths[name], signal);
        log(`built ${name} ${step} in ${((performance.now() - started) / 1000).toFixed(0)} s`);
      }
    },
  );
  return paths;
}

async function build(tool: Tool, target: string, signal?: AbortSignal): Promise<void> {
  mkdirSync(dirname(target), { recursive: true });
  const unfinished = `${target}.unfinished`; // only one builds at a time: what a killed one has left is overwritten
  try {
    const args = ['build', ...buildFlags(tool), '-o', unfinished, tool.package];
    await goBuild(args, moduleDirectory(tool.module), signal);
    renameSync(unfinished, target);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function goBuild(args: readonly string[], cwd: string, signal?: AbortSignal): Promise<void> {
  const env = { ...process.env, ...BUILD_ENV };
  const child = spawn('go', args, { cwd, env, signal, stdio: ['ignore', 'inherit', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-8000);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`go ${args.join(' ')} failed in ${cwd}:\n${withoutDownloads(said)}`);
}

function withoutDownloads(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('go: downloading '))
    .join('\n')
    .trim();
}

function buildFlags(tool: Tool): string[] {
  const variables = Object.entries(tool.versions ?? {}).map(
    ([variable, module]) => `-X ${variable}=${requiredVersion(tool.module, module)}`,
  );
  const tags = tool.tags === undefined ? [] : ['-tags', tool.tags];
  return ['-trimpath', '-buildvcs=false', ...tags, '-ldflags', ['-s -w', ...variables].join(' ')];
}

/** The version that the module's go.mod pins, e.g. "v1.36.3": versions are said in one place only. */
function requiredVersion(module: string, required: string): string {
  const text = readFileSync(join(moduleDirectory(module), 'go.mod'), 'utf8');
  for (const line of text.split('\n')) {
    const [name, version] = line
      .replace(/^\s*require\s+/, '')
      .trim()
      .split(/\s+/);
    if (name === required && version?.startsWith('v')) return version;
  }
  throw new Error(`${module}/go.mod does not require ${required}`);
}

function requireGo(): void {
  if (spawnSync('go', ['version']).status !== 0) {
    throw new Error('go is missing: the test cluster is built from Go modules, install Go 1.26 or newer');
  }
}

function moduleDirectory(module: string): string {
  return join(repositoryRoot, 'hack', 'cluster', 'tools', module);
}

function cacheDirectory(): string {
  return join(repositoryRoot, '.cache', 'bin');
}
