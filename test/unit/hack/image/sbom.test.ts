import { expect, test } from '@jest/globals';
import { as } from '../../../../hack/cluster/lib/untyped.ts';
import { type Component, debianPurl, npmPurl, spdx } from '../../../../hack/image/sbom.ts';

interface Document {
  readonly documentNamespace: string;
  readonly creationInfo: { readonly created: string };
  readonly packages: readonly { readonly SPDXID: string; readonly name: string }[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relationshipType: string;
    readonly relatedSpdxElement: string;
  }[];
}

const subject = {
  name: 'haulout',
  version: '1.0.0',
  license: 'Apache-2.0',
  purl: npmPurl('haulout', '1.0.0'),
  purpose: 'APPLICATION',
} as const;
const bookworm = { id: 'debian', version: '12' };
const npm = (name: string, version: string): Component => ({
  name,
  version,
  license: 'MIT',
  purl: npmPurl(name, version),
});
const created = new Date('2026-11-21T12:00:00.500Z');
const documentOf = (...components: Component[]): Document => as<Document>(spdx(subject, components, created));

test('package URLs are encoded as their specification asks', () => {
  expect(npmPurl('@so-ric/colorspace', '1.1.6')).toBe('pkg:npm/%40so-ric/colorspace@1.1.6');
  expect(debianPurl('libstdc++6', '12.2.0-14+deb12u1', 'arm64', bookworm)).toBe(
    'pkg:deb/debian/libstdc%2B%2B6@12.2.0-14%2Bdeb12u1?arch=arm64&distro=debian-12',
  );
});

test('every component is contained in the one thing that is described', () => {
  const document = documentOf(npm('a', '1.0.0'), npm('@b/c', '2.0.0'));
  expect(document.packages.map(({ name }) => name)).toEqual(['haulout', 'a', '@b/c']);
  const [top, ...others] = document.packages.map(({ SPDXID }) => SPDXID);
  expect(document.relationships).toEqual([
    { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: top },
    ...others.map((relatedSpdxElement) => ({
      spdxElementId: top,
      relationshipType: 'CONTAINS',
      relatedSpdxElement,
    })),
  ]);
});

test('identifiers are valid and unique, also where a package is there twice', () => {
  const libraries = ['libc6', 'libstdc++6'].map((name) => ({
    name,
    version: '1+b1',
    purl: debianPurl(name, '1+b1', 'amd64', bookworm),
  }));
  const ids = documentOf(npm('a', '1.0.0'), npm('a', '2.0.0'), ...libraries).packages.map(
    ({ SPDXID }) => SPDXID,
  );
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/);
});

test('the same content gives the same document, other content another name space', () => {
  expect(documentOf(npm('a', '1.0.0'))).toEqual(documentOf(npm('a', '1.0.0')));
  expect(documentOf(npm('a', '1.0.0')).documentNamespace).not.toBe(
    documentOf(npm('a', '1.0.1')).documentNamespace,
  );
  expect(documentOf().creationInfo.created).toBe('2026-11-21T12:00:00Z');
});
