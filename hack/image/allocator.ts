/** The allocator of the image, as the stage `debian` of Containerfile would have it. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyFound, type DebianPackage } from './debian.ts';
import { run } from './run.ts';

/** Assembles below `root` what is copied into the image. */
export async function assembleAllocator(root: string, { name, file, control }: DebianPackage): Promise<void> {
  const extracted = `${root}-package`;
  rmSync(root, { recursive: true, force: true });
  await run('dpkg-deb', ['--extract', file, extracted]);
  copyFound(extracted, 'usr/lib/*/libjemalloc.so.2', join(root, 'usr/lib/libjemalloc.so.2'));
  const copyright = `usr/share/doc/${name}/copyright`;
  copyFound(extracted, copyright, join(root, copyright));
  const status = join(root, 'var', 'lib', 'dpkg', 'status.d');
  mkdirSync(status, { recursive: true });
  writeFileSync(join(status, name), control);
}
