import type { Answer, Refusal } from './answer.ts';
import { type AnswerHeaders, classify } from './classify.ts';
import type { ApiStatus } from './types.ts';

/** What an answer says before its body. */
export interface AnswerHead extends AnswerHeaders {
  /** The HTTP status. */
  readonly code: number;
  /** The body is plain text: a message for people, where a Status would have one. */
  readonly plain: boolean;
}

/** The Answer in an HTTP answer. `T` is what the caller knows the server to send; it is not checked. */
export function answerOf<T>(head: AnswerHead, text: string): Answer<T> {
  if (head.code < 200 || head.code >= 300) {
    return refusalOf(head, text);
  }
  let object: T;
  try {
    object = JSON.parse(text);
  } catch {
    return { kind: 'network', message: 'the answer is not JSON' };
  }
  if (isStatus(object) && object.status === 'Failure') {
    // The eviction API answers 201 with a Status of code 500 for a pod under several budgets.
    return classify(object.code ?? 500, object, head);
  }
  return { kind: 'ok', object };
}

/** The cause in an error answer, whose body may be a Status, plain text or anything. */
export function refusalOf(head: AnswerHead, text: string): Refusal {
  const body = parseJson(text);
  if (isStatus(body)) {
    return classify(head.code, body, head);
  }
  // Priority and fairness, unknown paths and start-up answer in plain text. Pages of proxies (HTML) say nothing.
  return classify(head.code, head.plain && text !== '' ? { message: text } : undefined, head);
}

/** The value in a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isStatus(value: unknown): value is ApiStatus {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';
}
