import { escapeUnprintable } from '../runtime/plain-text.ts';
import { redactText } from '../runtime/redact.ts';

/** What the shell and the kubelet get back. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed: a crash, or objects that are not valid. */
  failed: 1,
  /** It never began: a wrong command line, an unusable kubeconfig, a cluster that cannot be reached. */
  unusable: 2,
} as const;

/** The command line is wrong. The message is one line that says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The process cannot start in these surroundings. The message is one line that says what to change. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** The single line that tells a person why the process ends, or undefined for an error that is a bug. */
export function explain(error: unknown): string | undefined {
  if (!(error instanceof UsageError) && !(error instanceof StartError)) return undefined;
  return `haulout: ${escapeUnprintable(redactText(error.message).replaceAll(/\s*\n\s*/g, ' '))}`;
}
