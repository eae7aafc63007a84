/** `kubectl drain` of the cluster's own kubectl, as a process of its own beside the operator. */
import { spawn } from 'node:child_process';
import type { Stage } from './stage.ts';

const FLAGS = ['--ignore-daemonsets', '--delete-emptydir-data', '--force'];

export interface KubectlDrain {
  readonly pid: number;
  /** From the command's start to its end, in seconds; rejects with what it said when it fails. */
  readonly ended: Promise<number>;
  /** For a drain that would go on for ever: ends it; `ended` resolves then, too. */
  stop(): Promise<void>;
}

export function kubectlDrain(
  { cluster }: Stage,
  nodes: readonly string[],
  signal: AbortSignal,
): KubectlDrain {
  const started = performance.now();
  const child = spawn(cluster.kubectl, ['drain', ...nodes, ...FLAGS], {
    env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  let said = '';
  let isStopped = false;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000);
  });
  const ended = new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0 || isStopped) resolve((performance.now() - started) / 1000);
      else reject(new Error(`kubectl drain ended with ${code}: ${said.trim()}`));
    });
  });
  ended.catch(() => undefined); // whoever waits for it gets it
  const stop = async (): Promise<void> => {
    isStopped = true;
    child.kill('SIGTERM');
    await ended;
  };
  return { pid: child.pid ?? -1, ended, stop };
}
