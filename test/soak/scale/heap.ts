/** What a process keeps: its heap after a full garbage collection, asked for through Node's inspector. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import type { OperatorProcess } from '../../e2e/support/operator-process.ts';

/** For the command line of a process that is to be asked: a port of its own choice on loopback. */
export const INSPECTED = '--inspect=127.0.0.1:0';

const LOOKS = 4;
const APART_MS = 500;

interface Reply {
  readonly id: number;
  readonly result?: { readonly usedSize?: number };
  readonly error?: { readonly message: string };
}

export class Heap {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<Reply>>();
  #lastId = 0;

  static async of(operator: OperatorProcess): Promise<Heap> {
    const log = readFileSync(operator.logFile, 'utf8');
    const url = [...log.matchAll(/^Debugger listening on (ws:\S+)$/gm)].at(-1)?.[1];
    if (url === undefined) throw new Error(`${operator.name} was not started with ${INSPECTED}`);
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve, { once: true });
      socket.addEventListener('error', reject, { once: true });
    });
    return new Heap(socket);
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const reply = as<Reply>(JSON.parse(String(data)));
      this.#waiting.get(reply.id)?.resolve(reply);
      this.#waiting.delete(reply.id);
    });
    socket.addEventListener('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the process has ended'));
    });
  }

  /** In bytes, the least of a few looks: what is on its way passes, what is kept stays. */
  async kept(): Promise<number> {
    const looks: number[] = [];
    while (looks.length < LOOKS) {
      looks.push(await this.usedAfterCollection());
      await sleep(APART_MS);
    }
    return Math.min(...looks);
  }

  /** In bytes. Twice, because what finalizers hold goes with the second one. */
  async usedAfterCollection(): Promise<number> {
    await this.#ask('HeapProfiler.collectGarbage');
    await this.#ask('HeapProfiler.collectGarbage');
    const { result } = await this.#ask('Runtime.getHeapUsage');
    return result?.usedSize ?? Number.NaN;
  }

  close(): void {
    this.#socket.close();
  }

  async #ask(method: string): Promise<Reply> {
    const id = ++this.#lastId;
    const reply = Promise.withResolvers<Reply>();
    this.#waiting.set(id, reply);
    this.#socket.send(JSON.stringify({ id, method }));
    const answer = await reply.promise;
    if (answer.error) throw new Error(`${method}: ${answer.error.message}`);
    return answer;
  }
}
