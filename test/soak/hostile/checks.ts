/** What has to be true of the operator whatever it is given; each problem is a sentence. */
import { existsSync, readFileSync, truncateSync } from 'node:fs';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { NodeMaintenance } from '../../../src/api/types.generated.ts';
import { type AuditEntry, type DeleteOptions, isByOperator, toEviction } from '../../e2e/support/audit.ts';
import { type Asked, type Life, objection, type SeenPod } from './oracle.ts';

const unclean = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/u;
const LONGEST_MESSAGE = 4096;

const dnsName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const isName = (name: string): boolean => name.length <= 253 && dnsName.test(name);

/** What is wrong with the answer to an object of this name: one that is refused is told why, in a 4xx. */
export function answerProblem(name: string, status: number, body: unknown): string | undefined {
  if (status === 200 || status === 201) return isName(name) ? undefined : 'taken, whatever its name';
  if (status < 400 || status > 499) return `answered with ${status}`;
  const { message = '', details = {} } = as<Refusal>(body ?? {});
  const fields = (details.causes ?? []).map(({ field = '' }) => field);
  const isTold =
    status === 422
      ? fields.some((field) => /^(spec|metadata)\b/.test(field))
      : /NodeMaintenance|spec|metadata|name|json/i.test(message);
  if (!isTold) return `refused without a word: ${message}`;
  const isSilent = status === 422 && !isName(name) && !fields.includes('metadata.name');
  return isSilent ? `nothing is said of the name: ${message}` : undefined;
}

interface Refusal {
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] };
}

export function conditionProblems({ metadata, status }: NodeMaintenance): string[] {
  const conditions = status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === 'Ready');
  const texts = [
    ...conditions.map(({ type, message }) => [`condition ${type}`, message] as const),
    ...(status?.blockers ?? []).flatMap(({ message, nextStep = '' }) => [
      ['blocker', message] as const,
      ['next step', nextStep] as const,
    ]),
  ];
  return [
    ...(ready === undefined || ready.message === '' ? ['nothing is said of Ready'] : []),
    ...conditions
      .filter(({ observedGeneration }) => observedGeneration !== metadata.generation)
      .map(({ type }) => `condition ${type} is about another generation`),
    ...texts
      .filter(([, text]) => unclean.test(text))
      .map(([where, text]) => `${where} is not one clean line: ${JSON.stringify(text)}`),
    ...texts.filter(([, text]) => text.length > LONGEST_MESSAGE).map(([where]) => `${where} is too long`),
  ];
}

/** Evictions and deletions that the maintenances do not ask for, or that one of them does not consent to. */
export function auditProblems(
  entries: readonly AuditEntry[],
  pods: ReadonlyMap<string, SeenPod>,
  lives: readonly Life[],
): string[] {
  const judge = (what: Asked['what'], uid: string, entry: AuditEntry): string[] => {
    const pod = pods.get(uid);
    if (pod === undefined) return [`${what} of a pod that nobody made, ${uid}`];
    const problem = objection(pod, { what, at: Date.parse(entry.requestReceivedTimestamp) }, lives);
    if (problem === undefined) return [];
    const about = lives.filter(({ versions }) => versions[0]?.spec.nodeName === pod.node);
    return [
      `${what} of ${JSON.stringify(pod)} (${entry.requestReceivedTimestamp}): ${problem}; its node has ${JSON.stringify(about)}`,
    ];
  };
  return entries.filter(isByOperator).flatMap((entry) => {
    const { verb, objectRef } = entry;
    if (verb === 'create' && objectRef?.subresource === 'eviction')
      return judge('eviction', toEviction(entry).uid, entry);
    if (verb !== 'delete' || objectRef?.resource !== 'pods') return [];
    const { preconditions } = as<DeleteOptions>(entry.requestObject ?? {});
    return judge('deletion', preconditions?.uid ?? '', entry);
  });
}

/** Every line is one JSON object of the logger's own, and none tells of an error. Reads the log and empties it. */
export function logProblems(file: string): string[] {
  if (!existsSync(file)) return ['there is no log'];
  const text = readFileSync(file, 'utf8');
  truncateSync(file);
  const lines = text.slice(0, text.lastIndexOf('\n')).split('\n').filter(Boolean);
  return lines.flatMap((line) => {
    if (!line.startsWith('{"timestamp":') || unclean.test(line))
      return [`in the log: ${JSON.stringify(line)}`];
    const isError = line.slice(0, 80).includes('"level":"error"') || line.includes('"message":"forged"');
    return isError ? [`in the log: ${line.slice(0, 2_000)}`] : [];
  });
}

const sample = /^(#.*|[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_]+="([^"\\\n]|\\["\\n])*",?)*\})? \S+)$/;

export function metricsProblems(text: string): string[] {
  const lines = text.split('\n').filter((line) => line !== '' && !sample.test(line));
  return lines.map((line) => `no line of metrics: ${JSON.stringify(line)}`);
}
