import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { StartError } from '../cli/exit.ts';
import type { Certificate } from './certificates.ts';
import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';

export interface CertificateFilesOptions {
  /** Holds tls.crt and tls.key, as a mounted Secret of type kubernetes.io/tls does. */
  readonly directory: string;
  /** A pair that differs from the one before, and fits. */
  readonly onChange: (certificate: Certificate) => void;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
}

// A kubelet takes a minute to bring a changed Secret. Reading two small files costs nothing, and sees every way in which
// files are replaced; notices from the file system do not.
const lookEveryMs = 10_000;

/** A certificate and its key in files that somebody renews. */
export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  #current: Certificate;
  #cancel: (() => void) | undefined;

  /** Throws a StartError where there is none to begin with. */
  constructor(options: CertificateFilesOptions) {
    this.#options = options;
    try {
      this.#current = read(options.directory);
    } catch (error) {
      throw new StartError(`--metrics-cert-dir cannot be used: ${messageOf(error)}`, { cause: error });
    }
  }

  get current(): Certificate {
    return this.#current;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  stop(): void {
    this.#cancel?.();
  }

  #look(): void {
    const { directory, onChange, logger } = this.#options;
    try {
      const found = read(directory);
      const { certificate, key } = this.#current;
      if (found.certificate === certificate && found.key === key) return;
      onChange(found);
      this.#current = found;
      logger.info('another certificate is used for /metrics', { directory });
    } catch (error) {
      // Between the writing of the two files they do not fit; the one in use goes on.
      logger.warn('the certificate for /metrics cannot be used', { directory, error: messageOf(error) });
    }
  }
}

function read(directory: string): Certificate {
  const text = (name: string) => readFileSync(join(directory, name), 'utf8');
  const pair = { certificate: text('tls.crt'), key: text('tls.key') };
  // Throws where they do not belong together.
  createSecureContext({ cert: pair.certificate, key: pair.key });
  return pair;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
