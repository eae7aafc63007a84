/**
 * The result of `work`, or a failure as soon as the signal is aborted: for work that does not know of it. It is left
 * behind then, and what it works on is to be taken away under it.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error('interrupted')));
  if (signal.aborted) reject(new Error('interrupted'));
  return Promise.race([work, promise]);
}
