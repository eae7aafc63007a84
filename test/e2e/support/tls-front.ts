/** An address in front of the API server that shows a certificate of its own, as a load balancer does, and can change it. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer, type Server } from 'node:tls';
import { type Authority, createAuthority, createCertificate } from '../../../src/runtime/certificates.ts';

export class TlsFront {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #authority: Authority;

  private constructor(target: URL) {
    this.#authority = createAuthority('front-1');
    this.#server = createServer(this.#certificate(), (client) => {
      // Who comes in is known by a token: nothing of the client's TLS has to reach the server.
      const upstream = connect({
        host: target.hostname,
        port: Number(target.port),
        rejectUnauthorized: false,
      });
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    // Whoever does not believe the certificate hangs up in the middle of the handshake.
    this.#server.on('tlsClientError', () => {});
  }

  static async before(server: string): Promise<TlsFront> {
    const front = new TlsFront(new URL(server));
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get url(): string {
    // oxlint-disable-next-line no-unsafe-type-assertion -- it listens on TCP
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** PEM of the authority that signed the certificate of now. */
  get ca(): string {
    return this.#authority.certificate;
  }

  /** From now on a certificate of another authority; all connections end, as when a load balancer is replaced. */
  replaceAuthority(): void {
    this.#authority = createAuthority('front-2');
    this.#server.setSecureContext(this.#certificate());
    this.cut();
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }

  #certificate(): { key: string; cert: string } {
    const { key, certificate } = createCertificate(this.#authority, {
      commonName: 'front',
      ipAddresses: ['127.0.0.1'],
    });
    return { key, cert: certificate };
  }
}
