import { accessSync, constants, readFileSync } from 'node:fs';
import type { RequestOptions as HttpsOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { KubeConfig, type User } from '@kubernetes/client-node';
import { parse } from 'yaml';
import type { Credentials, KubeAccess } from './connection.ts';

export interface KubeConfigOptions {
  /** Path of a kubeconfig file: the only source that is tried. */
  readonly kubeconfig?: string;
  /** Context to use instead of the file's current one. */
  readonly context?: string;
  /** Bearer token to use instead of the configured user. */
  readonly token?: string;
  /** Default: the environment of the process (KUBECONFIG, HOME, KUBERNETES_SERVICE_HOST and _PORT). */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where a pod finds its service account; for tests. */
  readonly serviceAccountDirectory?: string;
}

export interface LoadedKubeConfig extends KubeAccess {
  /** Where the configuration comes from, for the log: a path, or `in-cluster service account`. */
  readonly source: string;
  /** Namespace of the context, or of the service account; undefined when none is set. */
  readonly namespace: string | undefined;
}

const defaultServiceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * Finds the configuration in the order that kubectl uses: `kubeconfig`, the files of KUBECONFIG, ~/.kube/config, the
 * service account of the pod. Throws an Error of one line that says what was tried when none is usable.
 */
export function loadKubeConfig(options: KubeConfigOptions = {}): LoadedKubeConfig {
  const read = reader(options);
  let config = read.load();
  const { cluster, namespace } = select(config, read.source, options.context);
  const access = {
    server: cluster.server,
    ...(cluster.proxyUrl === undefined ? {} : { proxyUrl: proxyOf(cluster.proxyUrl, read.source) }),
  };
  return {
    ...access,
    source: read.source,
    namespace,
    credentials: async (fresh) => {
      if (fresh) {
        // client-node caches the token file for a minute and exec credentials until they expire: begin anew.
        const again = read.load();
        select(again, read.source, options.context);
        config = again;
      }
      return credentialsOf(config, options.token);
    },
  };
}

interface Reader {
  readonly source: string;
  load(): KubeConfig;
}

function reader(options: KubeConfigOptions): Reader {
  const env = options.env ?? process.env;
  if (options.kubeconfig !== undefined && options.kubeconfig !== '') {
    return fromFiles([options.kubeconfig]);
  }
  const tried: string[] = [];
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter(Boolean);
  const present = listed.filter(exists);
  if (present.length > 0) {
    return fromFiles(present);
  }
  tried.push(listed.length > 0 ? `KUBECONFIG (${listed.join(', ')}: no such file)` : 'KUBECONFIG (not set)');
  const home = join(env['HOME'] ?? homedir(), '.kube', 'config');
  if (exists(home)) {
    return fromFiles([home]);
  }
  tried.push(`${home} (no such file)`);
  const directory = options.serviceAccountDirectory ?? defaultServiceAccountDirectory;
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  if (host !== '' && exists(join(directory, 'token'))) {
    return fromServiceAccount(directory, host, env['KUBERNETES_SERVICE_PORT'] ?? '443');
  }
  tried.push(
    host === ''
      ? 'the pod service account (KUBERNETES_SERVICE_HOST is not set)'
      : 'the pod service account (no token)',
  );
  throw new Error(`no Kubernetes configuration found; tried ${tried.join(', ')}`);
}

function fromFiles(files: readonly string[]): Reader {
  return {
    source: files.join(delimiter),
    load: () => {
      const merged = new KubeConfig();
      const parts = files.map((file) => {
        const part = new KubeConfig();
        try {
          part.loadFromFile(file);
          const { clusters, contexts, currentContext } = part;
          const users = part.users.map(withTokenFile(file));
          part.loadFromOptions({ clusters, users, contexts, currentContext });
        } catch (error) {
          throw new Error(`cannot use kubeconfig ${file}: ${oneLine(error)}`, { cause: error });
        }
        return part;
      });
      // As kubectl merges: of several entries with the same name the first file's counts.
      merged.loadFromOptions({
        clusters: firstOfEachName(parts.flatMap((part) => part.clusters)),
        users: firstOfEachName(parts.flatMap((part) => part.users)),
        contexts: firstOfEachName(parts.flatMap((part) => part.contexts)),
        currentContext: parts.find((part) => Boolean(part.currentContext))?.currentContext,
      });
      return merged;
    },
  };
}

/** client-node drops `tokenFile`, and would come as nobody. As in client-go the file counts more than a token beside it. */
function withTokenFile(file: string): (user: User) => User {
  const written: WrittenUsers | null = parse(readFileSync(file, 'utf8'));
  const users = written?.users ?? [];
  return (user) => {
    const path = users.find(({ name }) => name === user.name)?.user?.tokenFile;
    if (typeof path !== 'string' || path === '') return user;
    const tokenFile = resolve(dirname(file), path);
    const { token: _, ...others } = user;
    return { ...others, authProvider: { name: 'tokenFile', config: { tokenFile } } };
  };
}

interface WrittenUsers {
  readonly users?: readonly { readonly name?: unknown; readonly user?: { readonly tokenFile?: unknown } }[];
}

function fromServiceAccount(directory: string, host: string, port: string): Reader {
  return {
    source: 'in-cluster service account',
    load: () => {
      const config = new KubeConfig();
      const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
      config.loadFromOptions({
        clusters: [{ name: 'cluster', server, caFile: join(directory, 'ca.crt'), skipTLSVerify: false }],
        users: [
          {
            name: 'pod',
            authProvider: { name: 'tokenFile', config: { tokenFile: join(directory, 'token') } },
          },
        ],
        contexts: [{ name: 'pod', cluster: 'cluster', user: 'pod' }],
        currentContext: 'pod',
      });
      return config;
    },
  };
}

/** Makes `context` the current one and checks that it leads to a server. Throws an Error of one line. */
function select(config: KubeConfig, source: string, context: string | undefined) {
  const name = context ?? config.getCurrentContext();
  if (name === undefined || name === '') {
    throw new Error(`kubeconfig ${source} has no current context, and none was named`);
  }
  config.setCurrentContext(name);
  const chosen = config.getContextObject(name);
  if (chosen === null) {
    const names = config.getContexts().map((each) => each.name);
    throw new Error(`kubeconfig ${source} has no context "${name}" (it has: ${names.join(', ') || 'none'})`);
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server)) {
    throw new Error(`kubeconfig ${source}: context "${name}" leads to no cluster with a usable server URL`);
  }
  if (cluster.server.startsWith('http:')) {
    // client-node refuses plain http without this; there is no TLS to verify (kubectl proxy).
    Object.assign(cluster, { skipTLSVerify: true });
  }
  return { cluster, namespace: chosen.namespace };
}

function proxyOf(proxyUrl: string, source: string): string {
  if (!/^https?:/.test(proxyUrl)) {
    throw new Error(
      `kubeconfig ${source}: proxy-url must be http or https, not ${proxyUrl.replace(/:.*/s, '')}`,
    );
  }
  return proxyUrl;
}

async function credentialsOf(config: KubeConfig, token: string | undefined): Promise<Credentials> {
  const options: HttpsOptions & { headers: Record<string, string> } = { headers: {} };
  await config.applyToHTTPSOptions(options);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(options.headers)) {
    // A token file may end in a line end, which no header may carry.
    headers[name.toLowerCase()] = value.trim();
  }
  if (typeof options.auth === 'string') {
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  }
  if (token !== undefined) {
    headers['authorization'] = `Bearer ${token.trim()}`;
  }
  const { ca, cert, key, rejectUnauthorized, servername } = options;
  return {
    tls: {
      ...(isPem(ca) ? { ca } : {}),
      ...(isPem(cert) && token === undefined ? { cert } : {}),
      ...(isPem(key) && token === undefined ? { key } : {}),
      ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
      ...(servername === undefined ? {} : { servername }),
    },
    headers,
  };
}

function isPem(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

function firstOfEachName<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) {
    if (!byName.has(entry.name)) {
      byName.set(entry.name, entry);
    }
  }
  return [...byName.values()];
}

function exists(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function oneLine(error: unknown): string {
  if (typeof error !== 'object' || error === null) {
    return String(error);
  }
  const { reason, message }: { readonly reason?: unknown; readonly message?: unknown } = error;
  // The message of a YAML error shows the lines around it, which may hold a token or a key.
  const text = typeof reason === 'string' ? `no valid YAML (${reason})` : String(message);
  return text.replace(/\s+/g, ' ').trim();
}
