/** Names of requests as the audit log has them: `create pods/eviction`, `watch nodes`, `patch nodemaintenances/status`. */

const VERBS: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** `/api/VERSION` or `/apis/GROUP/VERSION`, then `[namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]]`. */
const PATH =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+)(?:\/([^/]+))?)?$/;

export function isWatch(url = ''): boolean {
  return new URL(url, 'http://x').searchParams.get('watch') === 'true';
}

/** With its subresource; the path itself where it is about none. */
export function resourceOf(url: string): string {
  const { pathname } = new URL(url, 'http://x');
  const [, resource, , subresource] = PATH.exec(pathname) ?? [];
  if (resource === undefined) return pathname;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

export function requestName(method: string, url: string): string {
  return `${VERBS[method] ?? readVerb(url)} ${resourceOf(url)}`;
}

function readVerb(url: string): string {
  if (isWatch(url)) return 'watch';
  const name = PATH.exec(new URL(url, 'http://x').pathname)?.[2];
  return name === undefined ? 'list' : 'get';
}
