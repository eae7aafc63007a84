/** `make cluster-down`: stops the cluster of a directory. node hack/cluster/down.ts [--dir .cluster] */
import { parseArgs } from 'node:util';
import { stopCluster } from './lib/cluster.ts';
import { stopKind } from './lib/foreign.ts';
import { errorMessage } from './lib/untyped.ts';

const { values } = parseArgs({ options: { dir: { type: 'string', default: '.cluster' } } });
const kind = process.env['CLUSTER'] ?? '';
const log = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  if (kind === 'kind') await stopKind(values.dir, log);
  else if (kind !== 'current') await stopCluster(values.dir);
  log(kind === 'current' ? 'CLUSTER=current: nothing was started, nothing is stopped' : 'cluster stopped');
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(1);
}
