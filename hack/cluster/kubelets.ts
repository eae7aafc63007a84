/** The process beside kwok: `node hack/cluster/kubelets.ts --kubeconfig FILE [--made-for PURPOSE]`, see lib/kubelets.ts. */
import { parseArgs } from 'node:util';
import { KubeClient } from './lib/kube-client.ts';
import { Kubelets } from './lib/kubelets.ts';

const { values } = parseArgs({
  options: { kubeconfig: { type: 'string' }, 'made-for': { type: 'string' } },
});
if (values.kubeconfig === undefined) throw new Error('--kubeconfig is missing');

const client = new KubeClient(values.kubeconfig, 'haulout-test-kubelets');
const stopped = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort());
await new Kubelets(client, {
  madeFor: values['made-for'],
  log: (line) => process.stderr.write(`${new Date().toISOString()} ${line}\n`),
}).run(stopped.signal);
await client.close();
