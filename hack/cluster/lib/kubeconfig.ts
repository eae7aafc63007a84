/** Kubeconfig files of the test cluster: one cluster, one user, everything inside. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import type { Certificate } from '../../../src/runtime/certificates.ts';

export interface KubeconfigContent {
  readonly server: string;
  /** PEM. */
  readonly authority: string;
  readonly user: string;
  readonly certificate: Certificate;
}

const encode = (text: string): string => Buffer.from(text).toString('base64');

/** Readable by its owner only; replaced in one step. */
export function writeKubeconfig(file: string, content: KubeconfigContent): void {
  const name = 'haulout';
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name, cluster: { server: content.server, 'certificate-authority-data': encode(content.authority) } },
    ],
    users: [
      {
        name: content.user,
        user: {
          'client-certificate-data': encode(content.certificate.certificate),
          'client-key-data': encode(content.certificate.key),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: content.user } }],
    'current-context': name,
  };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, stringify(document), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
