// What the API server can answer to a write, told apart by cause. `classify` (classify.ts) is the only place that
// looks at status codes and messages.

export type Answer<T = unknown> = { readonly kind: 'ok'; readonly object: T } | Refusal;

export type Refusal =
  /** 404: the object (not the resource) does not exist. */
  | { readonly kind: 'notFound'; readonly message: string }
  /** 404 without an object: the API server does not serve this resource (CRD or API group missing). */
  | { readonly kind: 'notServed'; readonly message: string }
  /** 409: the resourceVersion or the UID precondition did not match, or the name is taken. */
  | { readonly kind: 'conflict'; readonly message: string }
  /** 410, or 400/504 "too large resource version": the list or watch has to begin again. */
  | { readonly kind: 'expired'; readonly message: string }
  /** 429 of the eviction API: `budget` allows no disruption now. */
  | {
      readonly kind: 'budget';
      readonly budget: string | undefined;
      readonly needs: number | undefined;
      readonly has: number | undefined;
      readonly message: string;
    }
  /**
   * The eviction API could not use the budget's status yet, and evicted nothing: it is older than the spec (429), was
   * being written by others (409, 504), or the controller has too many evictions to confirm (403).
   */
  | {
      readonly kind: 'budgetStale';
      readonly budget: string | undefined;
      readonly retryAfterSeconds: number;
      readonly message: string;
    }
  /** 500 of the eviction API: more than one budget selects the pod. */
  | { readonly kind: 'multipleBudgets'; readonly message: string }
  /** An admission webhook or policy said no, with whatever code; the message is its own. */
  | { readonly kind: 'admission'; readonly message: string }
  /** 403: the namespace is being deleted. */
  | { readonly kind: 'namespaceTerminating'; readonly message: string }
  /** 429 of priority and fairness: the server is overloaded. */
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number; readonly message: string }
  /** 401 or 403: the operator's identity may not do this. */
  | { readonly kind: 'forbidden'; readonly message: string }
  /** 400, 405, 415, 422 and the like: sent again it would be refused again. */
  | { readonly kind: 'invalid'; readonly message: string }
  /** 5xx: refused or broken; whether it took effect is not known. */
  | { readonly kind: 'serverError'; readonly code: number; readonly message: string }
  /** No answer (refused connection, reset, time-out): whether it took effect is not known. */
  | { readonly kind: 'network'; readonly message: string };
