/** `path` with `query` appended, whether or not it already carries one. */
export function withQuery(path: string, query: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams(query).toString();
  if (text === '') {
    return path;
  }
  return `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

/**
 * The resource that an API path is about, without any name (`pods`, `pods/eviction`, `nodes/status`): the label of the
 * request metrics, which must not grow with the objects. Paths outside of the API give their first segment.
 */
export function resourceOf(path: string): string {
  const [root = '', ...rest] = path.replace(/\?.*$/, '').split('/').filter(Boolean);
  if (root !== 'api' && root !== 'apis') {
    return root;
  }
  // /api/VERSION or /apis/GROUP/VERSION, then [namespaces/NAMESPACE/]RESOURCE[/NAME[/SUBRESOURCE]].
  let segments = rest.slice(root === 'api' ? 1 : 2);
  const [first, , third] = segments;
  if (first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize') {
    segments = segments.slice(2);
  }
  const [resource = root, , subresource] = segments;
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}
