/** From the sources to an OCI archive and a list of what is in it. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBundle, type Bundle } from '../bundle/build.ts';
import { versionOf } from '../bundle/slim.ts';
import { repositoryRoot } from '../cluster/lib/paths.ts';
import { ARCHITECTURES, type Architecture } from './arch.ts';
import { assembleAllocator } from './allocator.ts';
import { Buildah } from './buildah.ts';
import { type DebianPackage, downloadPackages } from './debian.ts';
import { type NodeBinary, nodeBinary } from './node-binary.ts';
import { assembleRoot } from './rootfs.ts';
import { run } from './run.ts';
import { type Component, debianPurl, npmPurl, spdx } from './sbom.ts';

export interface Image {
  /** As the chart's values name it, in full: what containerd and Docker call haulout/haulout:VERSION. */
  readonly name: string;
  readonly archive: string;
  readonly digest: string;
  readonly sboms: readonly string[];
}

const LICENSE = 'Apache-2.0';

const dist = join(repositoryRoot, 'dist');

export interface Content {
  readonly bundle: Bundle;
  readonly version: string;
  readonly created: Date;
}

/** All that Containerfile copies into the image. */
export async function buildContent(): Promise<Content> {
  const version = versionOf(join(repositoryRoot, 'package.json'));
  const created = await creationTime();
  const bundle = await buildBundle(dist);
  writeBundleSbom(join(dist, 'haulout.spdx.json'), version, bundle, created);
  return { bundle, version, created };
}

export async function buildImage(
  architectures: readonly Architecture[],
  log: (line: string) => void,
): Promise<Image> {
  const { bundle, version, created } = await buildContent();
  const name = `docker.io/haulout/haulout:${version}`;
  const work = join(dist, '.image');
  const buildah = new Buildah(join(work, 'storage'));
  try {
    const images: string[] = [];
    const sboms: string[] = [];
    for (const arch of architectures) {
      log(`${arch}: Node.js, Debian packages ...`);
      const place = join(work, arch);
      const node = await nodeBinary(arch);
      const debian = await downloadPackages(arch, place);
      await assembleRoot(join(place, 'rootfs'), arch, debian.base, node);
      await assembleAllocator(join(place, 'allocator'), debian.allocator);
      log(`${arch}: layers ...`);
      const [base, allocator] = [`localhost/haulout-base:${arch}`, `localhost/haulout-allocator:${arch}`];
      for (const [part, tag] of Object.entries({ base, allocator })) {
        const containerfile = join(repositoryRoot, 'hack', 'image', `${part}.Containerfile`);
        await buildah.build({ containerfile, context: place, tag, arch, created });
      }
      const tag = `localhost/haulout:${arch}`;
      const own = join(repositoryRoot, 'Containerfile');
      const args = { BASE: base, ALLOCATOR: allocator, VERSION: version };
      await buildah.build({ containerfile: own, context: repositoryRoot, tag, arch, created, args });
      images.push(tag);
      const sbom = join(dist, `haulout-image-${arch}.spdx.json`);
      writeImageSbom(sbom, {
        version,
        arch,
        bundle,
        node,
        debian: [...debian.base, debian.allocator],
        created,
      });
      sboms.push(sbom);
    }
    const some = architectures.length < ARCHITECTURES.length ? `-${architectures.join('-')}` : '';
    const archive = join(dist, `haulout-image${some}.oci.tar`);
    const digest = await buildah.archive(name, images, archive);
    return { name, archive, digest, sboms };
  } finally {
    buildah.discard();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Of the last commit, so that building it twice gives the same image; SOURCE_DATE_EPOCH says it otherwise. */
async function creationTime(): Promise<Date> {
  const given = process.env['SOURCE_DATE_EPOCH'];
  const seconds = given ?? (await run('git', ['-C', repositoryRoot, 'log', '-1', '--format=%ct']));
  return new Date(Number(seconds) * 1000);
}

function npmComponents({ packages }: Bundle): Component[] {
  return packages.map(({ name, version, license }) => ({
    name,
    version,
    license,
    purl: npmPurl(name, version),
  }));
}

function writeBundleSbom(file: string, version: string, bundle: Bundle, created: Date): void {
  mkdirSync(join(file, '..'), { recursive: true });
  const purl = npmPurl('haulout', version);
  const subject = { name: 'haulout', version, license: LICENSE, purl, purpose: 'APPLICATION' } as const;
  write(file, spdx(subject, npmComponents(bundle), created));
}

interface Parts {
  readonly version: string;
  readonly arch: Architecture;
  readonly bundle: Bundle;
  readonly node: NodeBinary;
  readonly debian: readonly DebianPackage[];
  readonly created: Date;
}

function writeImageSbom(file: string, { version, arch, bundle, node, debian, created }: Parts): void {
  const about = readFileSync('/etc/os-release', 'utf8');
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]+)`, 'm').exec(about)?.[1] ?? '';
  const release = { id: field('ID'), version: field('VERSION_ID') };
  const components: Component[] = [
    ...npmComponents(bundle),
    {
      name: 'node',
      version: node.version,
      license: 'MIT',
      purl: `pkg:generic/node@${node.version}`,
      cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
    },
    ...debian.map(({ name, version: own, architecture, sha256 }) => ({
      name,
      version: own,
      purl: debianPurl(name, own, architecture, release),
      sha256,
    })),
  ];
  const subject = {
    name: `haulout-image-${arch}`,
    version,
    license: LICENSE,
    purl: `pkg:oci/haulout@${version}?arch=${arch}`,
    purpose: 'CONTAINER',
  } as const;
  write(file, spdx(subject, components, created));
}

function write(file: string, document: unknown): void {
  writeFileSync(file, `${JSON.stringify(document, undefined, 2)}\n`);
}
