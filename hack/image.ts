/**
 * `make image`: the operator's image as an OCI archive in dist/, without a container engine. Needs Debian (or what
 * derives from it) with apt and buildah; elsewhere, see Containerfile.
 *   node hack/image.ts [--arch amd64,arm64]
 *   node hack/image.ts --bundle-only          only what Containerfile copies into the image
 */
import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { errorMessage } from './cluster/lib/untyped.ts';
import { ARCHITECTURES, isArchitecture } from './image/arch.ts';
import { buildContent, buildImage } from './image/build.ts';

const shown = (path: string): string => relative(process.cwd(), path);
const print = (line: string): void => void process.stdout.write(`${line}\n`);

try {
  const { values } = parseArgs({
    options: {
      arch: { type: 'string', default: ARCHITECTURES.join(',') },
      'bundle-only': { type: 'boolean', default: false },
    },
  });
  const architectures = values.arch.split(',').map((name) => {
    if (isArchitecture(name)) return name;
    throw new Error(`there is no image for ${name}, only for ${ARCHITECTURES.join(' and ')}`);
  });
  if (values['bundle-only']) {
    await buildContent();
    process.exit(0);
  }
  const { name, archive, digest, sboms } = await buildImage(architectures, print);
  const megabytes = (statSync(archive).size / 1e6).toFixed(0);
  print(`${shown(archive)}: ${name}, ${architectures.join(' and ')}, ${megabytes} MB`);
  print(`digest of the index: ${digest}`);
  print(`what is in it: ${sboms.map(shown).join(', ')}`);
} catch (error) {
  process.stderr.write(`make image: ${errorMessage(error)}\n`);
  process.exitCode = 1;
}
