/** What every proxy between the operator and the API server needs: a certificate, a place on loopback, and the way on. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { as } from '../../../hack/cluster/lib/untyped.ts';
import { createAuthority, createCertificate } from '../../../src/runtime/certificates.ts';

export interface ProxyIdentity {
  readonly cert: string;
  readonly key: string;
  /** PEM of the authority that a client has to believe. */
  readonly ca: string;
}

export interface Upstream {
  /** For the operator: its own kubeconfig with the proxy for a server. */
  readonly kubeconfig: string;
  /** The API server. */
  readonly url: URL;
  readonly agent: Agent;
}

interface KubeconfigDocument {
  clusters: { cluster: Record<string, string> }[];
}

export function proxyIdentity(name: string): ProxyIdentity {
  // A name of its own: a leaf that is called like its issuer counts as self-signed.
  const authority = createAuthority(`${name}-ca`);
  const { certificate: cert, key } = createCertificate(authority, {
    commonName: name,
    ipAddresses: ['127.0.0.1'],
  });
  return { cert, key, ca: authority.certificate };
}

/** Resolves when `server` listens. `dir` gets the kubeconfig, `NAME.kubeconfig`. */
export async function listenInFront(
  server: Server,
  { ca }: ProxyIdentity,
  operatorKubeconfig: string,
  dir: string,
  name: string,
): Promise<Upstream> {
  const document = as<KubeconfigDocument>(parse(readFileSync(operatorKubeconfig, 'utf8')));
  const cluster = document.clusters[0]?.cluster ?? {};
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = new URL(cluster['server'] ?? '');
  const serverCa = Buffer.from(cluster['certificate-authority-data'] ?? '', 'base64');
  cluster['server'] = `https://127.0.0.1:${as<AddressInfo>(server.address()).port}`;
  cluster['certificate-authority-data'] = Buffer.from(ca).toString('base64');
  const kubeconfig = join(dir, `${name}.kubeconfig`);
  writeFileSync(kubeconfig, stringify(document), { mode: 0o600 });
  return { kubeconfig, url, agent: new Agent({ keepAlive: true, ca: serverCa }) };
}
