/** `make cluster-down`: stops the cluster of a directory. node hack/cluster/down.ts [--dir .cluster] */
import { stopCluster } from './lib/cluster.ts';
import { commandLine } from './lib/command-line.ts';
import { closeForeign } from './lib/foreign.ts';
import { moveOut } from './lib/guest.ts';
import { errorMessage } from './lib/untyped.ts';
import { clusterKind, exitCodeOf } from './lib/which-cluster.ts';

const { values } = commandLine('node hack/cluster/down.ts [--dir .cluster]', {
  options: { dir: { type: 'string', default: '.cluster' } },
});
const log = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const kind = clusterKind();
  // A test or demo on somebody's cluster that was killed.
  await moveOut(values.dir, log);
  if (kind === 'own') await stopCluster(values.dir);
  else await closeForeign(kind, values.dir, log);
  log(kind === 'current' ? 'CLUSTER=current: the cluster itself is not stopped' : 'cluster stopped');
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(exitCodeOf(error));
}
