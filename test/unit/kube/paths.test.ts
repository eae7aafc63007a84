import { describe, expect, test } from '@jest/globals';
import { resourceOf, withQuery } from '../../../src/kube/paths.ts';

describe('resourceOf', () => {
  test.each([
    ['/api/v1/nodes', 'nodes'],
    ['/api/v1/nodes/a?x=1', 'nodes'],
    ['/api/v1/nodes/a/status', 'nodes/status'],
    ['/api/v1/namespaces', 'namespaces'],
    ['/api/v1/namespaces/a', 'namespaces'],
    ['/api/v1/namespaces/a/status', 'namespaces/status'],
    ['/api/v1/namespaces/a/pods?watch=true', 'pods'],
    ['/api/v1/namespaces/a/pods/b/eviction', 'pods/eviction'],
    ['/apis/apps/v1/namespaces/a/deployments/b/scale', 'deployments/scale'],
    ['/apis/storage.k8s.io/v1/volumeattachments', 'volumeattachments'],
    ['/apis/coordination.k8s.io/v1/namespaces/a/leases/b', 'leases'],
    ['/version', 'version'],
    ['/api', 'api'],
    ['/', ''],
  ])('%s is about %s', (path, resource) => {
    expect(resourceOf(path)).toBe(resource);
  });
});

describe('withQuery', () => {
  test.each([
    ['/a', {}, '/a'],
    ['/a', { b: 'c d' }, '/a?b=c+d'],
    ['/a?x=1', { fieldSelector: 'spec.nodeName=n' }, '/a?x=1&fieldSelector=spec.nodeName%3Dn'],
  ])('%s', (path, query, expected) => {
    expect(withQuery(path, query)).toBe(expected);
  });
});
