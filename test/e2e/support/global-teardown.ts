/** Once after all test files. An operator that does not end in an orderly way fails the run. */
import { checkRules } from './rbac.ts';
import { shared } from './shared.ts';

/** What of jest's configuration counts here. */
interface GlobalConfig {
  readonly testNamePattern?: string;
}

export default async function tearDown({ testNamePattern }: GlobalConfig): Promise<void> {
  const { operator, startedCluster, moveOut, rules } = shared;
  try {
    if (operator) {
      const wasRunning = operator.isRunning;
      const { code, signal } = await operator.stop();
      if (!wasRunning)
        throw new Error(`the operator had ended by itself: exit code ${code}\n${operator.tail()}`);
      if (code !== 0)
        throw new Error(`the operator ended with exit code ${code}, signal ${signal}\n${operator.tail()}`);
    }
    if (rules)
      await checkRules(rules.state, rules.helm, Boolean(testNamePattern), (line) =>
        process.stdout.write(`${line}\n`),
      );
  } finally {
    await moveOut?.();
    await startedCluster?.stop();
  }
}
