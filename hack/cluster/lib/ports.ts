/** Free loopback ports. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which the kernel takes the ports of outgoing connections (32768 and up on Linux): a port that
 * is given up for the seconds of an API server's restart must not be taken by some client's connection meanwhile.
 */
const LOWEST = 20_000;
const BEYOND = 32_000;

/** Free when asked; whoever binds later has to be ready to lose the race and ask again. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let attempts = 0; ports.size < count; attempts++) {
    if (attempts > 1000)
      throw new Error(`no ${count} free ports between ${LOWEST} and ${BEYOND} on 127.0.0.1`);
    const port = randomInt(LOWEST, BEYOND);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
