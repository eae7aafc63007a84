/** Node's environment of jest, in which a test that asks for what its cluster does not have is skipped, with the reason. */
import { basename } from 'node:path';
import { TestEnvironment } from 'jest-environment-node';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { NotHere } from './not-here.ts';

/** Of jest-circus, the little that is looked at. */
interface Event {
  readonly name: string;
  readonly test?: { errors: unknown[]; status: string };
}

export default class SkippingEnvironment extends TestEnvironment {
  readonly #file: string;
  /** By reason. */
  readonly #skipped = new Map<string, number>();

  constructor(...args: ConstructorParameters<typeof TestEnvironment>) {
    super(...args);
    this.#file = basename(args[1].testPath);
  }

  handleTestEvent({ name, test }: Event): void {
    if (name === 'test_done' && test) {
      const reasons = test.errors.map(reasonOf);
      const [reason] = reasons;
      if (reason === undefined || reasons.includes(undefined)) return;
      test.errors = [];
      test.status = 'skip';
      this.#skipped.set(reason, (this.#skipped.get(reason) ?? 0) + 1);
    } else if (name === 'run_finish') {
      for (const [reason, count] of this.#skipped)
        process.stderr.write(`${this.#file}: ${count} skipped, as ${reason}\n`);
    }
  }
}

/** An error is there as it was thrown, or beside the place from which it was thrown. Not by instanceof: another realm's. */
function reasonOf(entry: unknown): string | undefined {
  const error = as<Partial<NotHere> | undefined>(Array.isArray(entry) ? entry[0] : entry);
  return error?.name === 'NotHere' ? error.message : undefined;
}
