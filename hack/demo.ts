/**
 * `make demo`: a node with 30 pods goes into maintenance and comes back, in under a minute once the control plane is
 * built. CLUSTER=kind and CLUSTER=current use other clusters, with fake nodes of the demo's own. Exit code 0 only if all
 * was as promised.
 */
import { join } from 'node:path';
import { clusterDirectory } from './cluster/lib/paths.ts';
import { withLock } from './cluster/lib/lock.ts';
import { errorMessage } from './cluster/lib/untyped.ts';
import { clusterKind, UnknownCluster } from './cluster/lib/which-cluster.ts';
import { Kubectl, shown } from './demo/kubectl.ts';
import { DIR, openPlace, type Place } from './demo/place.ts';
import { Screen } from './demo/screen.ts';
import { Story } from './demo/story.ts';

const screen = new Screen();
const interrupted = new AbortController();
const started = performance.now();

async function demo(): Promise<number> {
  const kind = clusterKind();
  screen.step(
    kind === 'current' ? "The demo moves into kubectl's current cluster" : 'A Kubernetes cluster starts',
  );
  const place = await openPlace(kind, (line) => screen.output(line));
  const opened = performance.now();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  screen.say('To look around from another terminal meanwhile:');
  screen.command(`export KUBECONFIG=${shown(place.kubeconfig)} PATH=${shown(place.binDir)}:$PATH`);
  const failure = await play(place);
  if (failure === undefined) {
    screen.say(`Done in ${seconds(started)} s, ${seconds(opened)} s of them after the cluster was there.`);
    return 0;
  }
  process.stderr.write(`\n${failure}\n`);
  return interrupted.signal.aborted ? 130 : 1;
}

/** Whatever happens, nothing keeps running; the reason where it was not as promised. */
async function play(place: Place): Promise<string | undefined> {
  const { binDir, kubeconfig } = place;
  const { signal } = interrupted;
  const story = new Story({ place, kubectl: new Kubectl({ binDir, kubeconfig, signal }), screen, signal });
  let failure: string | undefined;
  try {
    await story.install();
    await story.fillNode();
    await story.drain();
  } catch (error) {
    failure = signal.aborted ? 'the demo was interrupted' : `the demo failed: ${errorMessage(error)}`;
    if (!signal.aborted && story.operatorLog !== undefined) {
      failure += `\nthe operator's log: ${story.operatorLog}`;
    }
  }
  screen.step('Everything is stopped');
  try {
    await story.tidyUp();
  } finally {
    await place.stop();
  }
  const audit = clusterKind() === 'own' ? "the API server's audit log and " : '';
  screen.say(`What is left is in ${shown(place.dir)}: ${audit}the logs of all programs.`);
  return failure;
}

function seconds(from: number): string {
  return ((performance.now() - from) / 1000).toFixed(0);
}

try {
  clusterKind();
  const lock = join(clusterDirectory(DIR), 'demo.lock');
  process.exit(await withLock(lock, () => screen.say('waiting for another demo to end'), demo));
} catch (error) {
  if (error instanceof UnknownCluster) {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
  process.stderr.write(`\nthe demo failed: ${errorMessage(error)}\n`);
  process.exit(1);
}
