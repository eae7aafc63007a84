/**
 * `make cluster`: starts a cluster and leaves it running.
 *   node hack/cluster/up.ts [--dir .cluster] [--nodes 4]
 * CLUSTER=kind uses kind, CLUSTER=current uses the cluster of kubectl's current context.
 */
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureCluster } from './lib/cluster.ts';
import { startKind, useCurrent } from './lib/foreign.ts';
import { errorMessage } from './lib/untyped.ts';

const { values } = parseArgs({
  options: { dir: { type: 'string', default: '.cluster' }, nodes: { type: 'string', default: '4' } },
});
const { dir } = values;
const nodes = Number(values.nodes);
const log = (line: string): void => void process.stdout.write(`${line}\n`);

const shown = (path: string): string => relative(process.cwd(), path);

// What is half started must not stay behind when somebody changes their mind.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

async function up(kind: string): Promise<{ kubeconfig: string; binDir: string }> {
  switch (kind) {
    case 'kind':
      return startKind(dir, nodes, log);
    case 'current':
      return useCurrent(dir, log);
    case '':
      return ensureCluster({ dir, nodes, log, signal: interrupted.signal });
    default:
      throw new Error(
        `CLUSTER=${kind} is not known: kind, current, or nothing for a control plane without containers`,
      );
  }
}

try {
  const { kubeconfig, binDir } = await up(process.env['CLUSTER'] ?? '');
  log(`\n  export KUBECONFIG=${shown(kubeconfig)}\n  ${shown(binDir)}/kubectl get nodes\n`);
  process.exit(0);
} catch (error) {
  process.stderr.write(`${interrupted.signal.aborted ? 'interrupted' : errorMessage(error)}\n`);
  process.exit(interrupted.signal.aborted ? 130 : 1);
}
