/**
 * The process beside kwok: `node hack/cluster/kubelets.ts --kubeconfig FILE [--made-for PURPOSE] [--heartbeats JSON]
 * [--volumes JSON]`, see lib/kubelets.ts, lib/heartbeats.ts, and lib/volumes/kubelets.ts for what it does where volumes are attached.
 */
import { parseArgs } from 'node:util';
import { DEFAULT_HEARTBEATS, type HeartbeatSettings } from './lib/heartbeats.ts';
import { KubeClient } from './lib/kube-client.ts';
import { Kubelets } from './lib/kubelets.ts';
import { as } from './lib/untyped.ts';
import { VolumeKubelets } from './lib/volumes/kubelets.ts';
import type { VolumeKubeletsSettings } from './lib/volumes/options.ts';

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string' },
    'made-for': { type: 'string' },
    heartbeats: { type: 'string' },
    volumes: { type: 'string' },
  },
});
if (values.kubeconfig === undefined) throw new Error('--kubeconfig is missing');

const client = new KubeClient(values.kubeconfig, 'haulout-test-kubelets');
const stopped = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopped.abort());
const log = (line: string): void => void process.stderr.write(`${new Date().toISOString()} ${line}\n`);
const heartbeats =
  values.heartbeats === undefined ? DEFAULT_HEARTBEATS : as<HeartbeatSettings>(JSON.parse(values.heartbeats));
const kubelets = new Kubelets(client, { madeFor: values['made-for'], heartbeats, log });
const volumes =
  values.volumes === undefined
    ? []
    : [new VolumeKubelets(client, as<VolumeKubeletsSettings>(JSON.parse(values.volumes)), log)];
await Promise.all([kubelets, ...volumes].map(async (player) => player.run(stopped.signal)));
await client.close();
