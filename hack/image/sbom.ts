/** A list of what is inside, in SPDX 2.3: https://spdx.github.io/spdx-spec/v2.3/ */
import { createHash } from 'node:crypto';

export interface Component {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; undefined where it is told by a file of the image only. */
  readonly license?: string;
  /** Package URL: what scanners look vulnerabilities up by. */
  readonly purl: string;
  readonly cpe?: string;
  readonly sha256?: string;
}

export interface Subject {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly purl: string;
  readonly purpose: 'APPLICATION' | 'CONTAINER';
}

const NONE = 'NOASSERTION';

/** The same components at the same time give the same document. */
export function spdx(subject: Subject, components: readonly Component[], created: Date): unknown {
  const content = createHash('sha256')
    .update(JSON.stringify([subject, components]))
    .digest('hex');
  const top = 'SPDXRef-haulout';
  const packages = components.map((component) => ({
    SPDXID: idOf(component),
    ...describe(component),
    ...(component.sha256 === undefined
      ? {}
      : { checksums: [{ algorithm: 'SHA256', checksumValue: component.sha256 }] }),
  }));
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `${subject.name}-${subject.version}`,
    documentNamespace: `https://haulout.dev/spdx/${subject.name}-${subject.version}-${content.slice(0, 32)}`,
    creationInfo: {
      created: created.toISOString().replace(/\.\d+Z$/, 'Z'),
      creators: ['Tool: haulout-make-image'],
    },
    packages: [{ SPDXID: top, ...describe(subject), primaryPackagePurpose: subject.purpose }, ...packages],
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: top },
      ...packages.map(({ SPDXID }) => ({
        spdxElementId: top,
        relationshipType: 'CONTAINS',
        relatedSpdxElement: SPDXID,
      })),
    ],
  };
}

function describe({ name, version, license, purl, cpe }: Component) {
  const purlReference = {
    referenceCategory: 'PACKAGE-MANAGER',
    referenceType: 'purl',
    referenceLocator: purl,
  };
  const cpeReference = {
    referenceCategory: 'SECURITY',
    referenceType: 'cpe23Type',
    referenceLocator: cpe,
  };
  return {
    name,
    versionInfo: version,
    downloadLocation: NONE,
    filesAnalyzed: false,
    licenseConcluded: NONE,
    licenseDeclared: license ?? NONE,
    copyrightText: NONE,
    externalRefs: cpe === undefined ? [purlReference] : [purlReference, cpeReference],
  };
}

/** Unique in a document: a package may be there in two versions, and names hold characters that an id may not. */
function idOf({ purl }: Component): string {
  return `SPDXRef-${purl.replace(/^pkg:/, '').replaceAll(/[^A-Za-z0-9.]+/g, '-')}`;
}

export function npmPurl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, '%40')}@${encodeURIComponent(version)}`;
}

/** `release`: where the package is from, such as Debian 12. */
export function debianPurl(
  name: string,
  version: string,
  architecture: string,
  release: { readonly id: string; readonly version: string },
): string {
  const qualifiers = `arch=${architecture}&distro=${release.id}-${release.version}`;
  return `pkg:deb/${release.id}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${qualifiers}`;
}
