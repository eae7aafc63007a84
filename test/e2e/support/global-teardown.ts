/** Once after all test files. An operator that does not end in an orderly way fails the run. */
import { shared } from './shared.ts';

export default async function tearDown(): Promise<void> {
  const { operator, startedCluster, moveOut } = shared;
  try {
    if (operator) {
      const wasRunning = operator.isRunning;
      const { code, signal } = await operator.stop();
      if (!wasRunning)
        throw new Error(`the operator had ended by itself: exit code ${code}\n${operator.tail()}`);
      if (code !== 0)
        throw new Error(`the operator ended with exit code ${code}, signal ${signal}\n${operator.tail()}`);
    }
  } finally {
    await moveOut?.();
    await startedCluster?.stop();
  }
}
