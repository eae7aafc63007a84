import type { Dispatcher } from 'undici';

/** The request was not sent: `reason` is what `check` said. */
export class NotSent extends Error {
  override readonly name = 'NotSent';
  readonly reason: Error;

  constructor(reason: Error) {
    super('the request was not sent', { cause: reason });
    this.reason = reason;
  }
}

/**
 * The same connections, with a last question when a request's first byte is about to be written: it may have waited
 * for a connection until then. Where `check` answers with an Error the request fails with NotSent.
 */
export function beforeSending(agent: Dispatcher, check: () => Error | undefined): Dispatcher {
  return agent.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      const reason = check();
      // Thrown here, it ends the request before anything of it is written.
      if (reason !== undefined) throw new NotSent(reason);
      start?.(controller, context);
    };
    return dispatch(options, handler);
  });
}
