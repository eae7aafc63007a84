/** Stops the real nodes that a killed run has left behind on this machine; waits while another run has some. */
import { withLock } from '../cluster/lib/lock.ts';
import { MACHINE_LOCK, stopNodesLeftBehind } from './real-node.ts';

function tell(): void {
  process.stderr.write('waiting for a run with real nodes on this machine\n');
}

// Only root can have started any.
if (process.getuid?.() === 0) await withLock(MACHINE_LOCK, tell, stopNodesLeftBehind);
